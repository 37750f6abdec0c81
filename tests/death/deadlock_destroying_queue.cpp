// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "other" would wait in ~workqueue[(][)] for queue "doomed", whose item 0x[0-9a-f]+ .* waits in flush[(][)] for item 0x[0-9a-f]+
// An item destroys a queue, and an item of that queue waits for the item that destroys it.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <functional>
#include <memory>
#include <string>

DEATH_CASE(deadlock_destroying_queue) {
    using item = cmwq::work<std::function<void()>>;
    cmwq::runtime rt{};
    cmwq::workqueue<> other{rt, "other"};
    auto doomed = std::make_unique<cmwq::workqueue<cmwq::unbound>>(rt, "doomed");
    item destroyer{[&] {
        while (rt.dump().find(" waits in flush() for item ") == std::string::npos) {}
        doomed.reset();
    }};
    item waits{[&] { destroyer.flush(); }};
    other.queue(destroyer);
    doomed->queue(waits);
    other.flush();
}
