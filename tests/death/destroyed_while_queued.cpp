// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] is destroyed while it is queued on queue "jobs" [(]pool [0-9]+[)]: it does not run
// The library reports this in builds with assertions only, and only to a listener.
#define CMWQ_ASSERTIONS
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <cstdio>
#include <cstdlib>
#include <future>

DEATH_CASE(destroyed_while_queued) {
    cmwq::runtime rt{{.on_event = [](const cmwq::event& e) {
        if (e.what != cmwq::event::kind::destroyed_while_queued) return;
        std::fprintf(stderr, "%s\n", e.message.c_str());
        std::abort();
    }}};
    cmwq::workqueue<cmwq::ordered> jobs{rt, "jobs"};
    std::promise<void> go;
    cmwq::work slow{[&] { go.get_future().wait(); }};
    jobs.queue(slow);
    {
        cmwq::work item{[] {}};
        jobs.queue(item);
    }
    go.set_value();
}
