// expect: cmwq: a thread that drops a task of the group would wait for itself in task_group::wait[(][)]: .*, called by ~task_group[(][)]
// The callable of a task has the last reference to the group, and shutdown() drops the task.
#include "case.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <latch>
#include <memory>

DEATH_CASE(group_of_its_dropped_callable) {
    cmwq::workqueue<cmwq::unbound> q{{.name = "q", .max_active = 1}};
    std::latch started(1), dropped(1);
    q.post([&] {
        started.count_down();
        dropped.wait();
    });
    started.wait();
    auto group = std::make_shared<cmwq::task_group>(q);
    group->run([group] {});
    group.reset();
    q.shutdown(cmwq::cancel_pending);
}
