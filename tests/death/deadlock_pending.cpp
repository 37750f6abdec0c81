// expect: cmwq: deadlock: items wait for each other: item 0x[0-9a-f]+ [(][^)]+[)] of queue "journal" waits in flush[(][)] for item 0x[0-9a-f]+ [(][^)]+[)], which is pending behind max_active 1 of queue "journal"
// An item of an ordered queue waits for the next item. This is no error, because another thread could still cancel the
// next item, but the library reports it within a second.
#include <cmwq/workqueue.hpp>

#include <chrono>
#include <cstdlib>
#include <future>

int main() {
    cmwq::workqueue<cmwq::ordered> journal{"journal"};
    std::promise<void> queued;
    cmwq::work next{[] {}};
    cmwq::work item{[&] {
        queued.get_future().wait();
        next.flush();
    }};
    journal.queue(item);
    journal.queue(next);
    queued.set_value();
    std::promise<void> nothing;
    nothing.get_future().wait_for(std::chrono::seconds{1});
    std::abort();
}
