// expect: cmwq: a runtime is destroyed by its on_event
// The thread that calls on_event belongs to the runtime: the destructor would wait for itself.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <memory>
#include <semaphore>

DEATH_CASE(runtime_destroyed_by_on_event) {
    static std::unique_ptr<cmwq::runtime> rt;
    std::binary_semaphore made{0}, ends{0};
    rt = std::make_unique<cmwq::runtime>(cmwq::runtime_options{.max_threads = 1, .on_event = [&](const cmwq::event&) {
                                                                   made.acquire();
                                                                   rt.reset();
                                                                   ends.release();
                                                               }});
    cmwq::workqueue<> q{*rt, "q"};
    std::binary_semaphore leave{0};
    for (int i = 0; i < 2; ++i) q.post([&] { leave.acquire(); }); // one more than there may be threads: an event
    made.release();
    ends.acquire();
}
