// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "other" would wait in ~work[(][)] for item 0x[0-9a-f]+ [(][^)]+[)], which runs on queue "q" and waits in flush[(][)] for item 0x[0-9a-f]+
// The destructor of an item cannot throw: it prints the deadlock and waits forever.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <functional>
#include <memory>
#include <string>

DEATH_CASE(deadlock_in_destructor) {
    using item = cmwq::work<std::function<void()>>;
    cmwq::runtime rt{{.on_event = cmwq_test::abort_with_message}};
    cmwq::workqueue<> q{rt, "q"}, other{rt, "other"};
    std::unique_ptr<item> doomed;
    item destroyer{[&] {
        while (rt.dump().find(" waits in flush() for item ") == std::string::npos) {} // until `doomed` waits
        doomed.reset();
    }};
    doomed = std::make_unique<item>([&] { destroyer.flush(); });
    other.queue(destroyer);
    q.queue(*doomed);
    other.flush();
}
