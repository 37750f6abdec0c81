// expect: cmwq: item 0x[0-9a-f]+ .* of queue "q" would wait for itself in task_group::wait[(][)]: .*, called by ~task_group[(][)]
// The callable of a task has the last reference to the owner of the group.
#include "case.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <latch>
#include <memory>

DEATH_CASE(group_of_its_callable) {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    struct job {
        explicit job(cmwq::workqueue<cmwq::elastic>& on) : group(on) {}
        cmwq::task_group group;
    };
    auto owner = std::make_shared<job>(q);
    std::latch released(1);
    owner->group.run([owner, &released] { released.wait(); });
    owner.reset();
    released.count_down();
    q.flush();
    q.drain();
}
