// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "reclaim", which has a rescuer, waits in flush[(][)] for queue "plain", which has none: if no thread can be made, both stand still
// The library reports this; without the listener here the program would go on.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <future>

DEATH_CASE(flush_dependency) {
    cmwq::runtime rt{{.on_event = [](const cmwq::event& e) {
        // Where threads are made slowly, the rescuer is called first.
        if (e.what != cmwq::event::kind::rescued) cmwq_test::abort_with_message(e);
    }}};
    cmwq::workqueue<cmwq::unbound> reclaim{rt, {.name = "reclaim", .rescuer = true}};
    cmwq::workqueue<cmwq::unbound> plain{rt, "plain"};
    std::promise<void> waits;
    cmwq::work slow{[&] { waits.get_future().wait(); }};
    cmwq::work item{[&] { plain.flush(); }};
    plain.queue(slow);
    reclaim.queue(item);
    item.flush();
}
