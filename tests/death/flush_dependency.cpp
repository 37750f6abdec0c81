// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "reclaim", which has a rescuer, waits in flush[(][)] for queue "plain", which has none: if no thread can be made, both stand still
// The library prints this to stderr if there is no listener. Then the program goes on.
#include <cmwq/workqueue.hpp>

#include <cstdlib>
#include <future>

int main() {
    cmwq::workqueue<cmwq::unbound> reclaim{{.name = "reclaim", .rescuer = true}};
    cmwq::workqueue<cmwq::unbound> plain{"plain"};
    std::promise<void> waits;
    cmwq::work slow{[&] { waits.get_future().wait(); }};
    cmwq::work item{[&] { plain.flush(); }};
    plain.queue(slow);
    reclaim.queue(item);
    std::promise<void> nothing;
    nothing.get_future().wait_for(std::chrono::seconds{1});
    waits.set_value();
    item.flush();
    std::abort();
}
