// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "other" would wait in ~task_group[(][)] for a task group on queue "q", a task of which runs in .* of queue "q", which waits in flush[(][)] for item 0x[0-9a-f]+ .*, called by ~task_group[(][)]
// An item destroys a group, and a task of that group waits for the item.
#include "case.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <functional>
#include <memory>
#include <string>

DEATH_CASE(deadlock_destroying_group) {
    using item = cmwq::work<std::function<void()>>;
    cmwq::runtime rt{};
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    cmwq::workqueue<> other{rt, "other"};
    auto doomed = std::make_unique<cmwq::task_group>(q);
    item destroyer{[&] {
        while (rt.dump().find(" waits in flush() for item ") == std::string::npos) {}
        doomed.reset();
    }};
    other.queue(destroyer);
    doomed->run([&] { destroyer.flush(); });
    other.flush();
}
