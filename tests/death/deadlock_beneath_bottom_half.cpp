// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "fast" would wait in ~work[(][)] for item 0x[0-9a-f]+ [(][^)]+[)], which runs on queue "q" and waits in flush[(][)] for queue "other"
// A thread runs a bottom half in the middle of another item. Neither of them can end while the bottom half waits.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <functional>
#include <memory>
#include <string>

DEATH_CASE(deadlock_beneath_bottom_half) {
    using item = cmwq::work<std::function<void()>>;
    cmwq::runtime rt{{.on_event = cmwq_test::abort_with_message}};
    cmwq::workqueue<> q{rt, "q"}, other{rt, "other"};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    auto doomed = std::make_unique<item>([&] { other.flush(); });
    item destroyer{[&] { doomed.reset(); }};
    item outer{[&] {
        while (rt.dump().find(" waits in flush() for queue \"other\"") == std::string::npos) {}
        fast.queue(destroyer);
    }};
    other.queue(outer);
    q.queue(*doomed);
    other.flush();
}
