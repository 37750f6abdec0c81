// expect: cmwq: deadlock: items wait for each other: item 0x[0-9a-f]+ [(][^)]+[)] of queue "journal" waits in flush[(][)] for item 0x[0-9a-f]+ [(][^)]+[)], which is pending behind max_active 1 of queue "journal"
// An item of an ordered queue waits for the next item. This is no error, because another thread could still cancel the
// next item, but the library reports it.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <future>

DEATH_CASE(deadlock_pending) {
    cmwq::runtime rt{{.on_event = cmwq_test::abort_with_message}};
    cmwq::workqueue<cmwq::ordered> journal{rt, "journal"};
    std::promise<void> queued;
    cmwq::work next{[] {}};
    cmwq::work item{[&] {
        queued.get_future().wait();
        next.flush();
    }};
    journal.queue(item);
    journal.queue(next);
    queued.set_value();
    item.flush();
}
