// SPDX-License-Identifier: BSL-1.0
//
// The queues that every program has.
#include "catch.hpp"
#include "child.hpp"
#include "this_task.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

using cmwq::queue_status;
using namespace cmwq_test;

namespace {

using get = cmwq::system_workqueue& (*)();
constexpr get every_queue[] = {cmwq::system_wq,
                               cmwq::system_highpri_wq,
                               cmwq::system_long_wq,
                               cmwq::system_unbound_wq,
                               cmwq::system_freezable_wq,
                               cmwq::system_power_efficient_wq,
                               cmwq::system_freezable_power_efficient_wq,
                               cmwq::system_bh_wq,
                               cmwq::system_bh_highpri_wq};

bool runs_its_items(get queue) {
    std::atomic<bool> ran{false};
    cmwq::work item{[&] { ran = true; }};
    if (&queue() != &queue() || queue().queue(item) != queue_status::queued) return false;
    item.flush();
    return ran;
}

} // namespace

TEST_CASE("system queues: a program may call any of them first") {
    for (const get queue : every_queue) {
        const outcome o = in_child([queue] { return runs_its_items(queue) ? 0 : 1; });
        INFO(o.stderr_text);
        CHECK(o.exited_with(0));
    }
}

// proves: cpus-1
TEST_CASE("system queues: a first user bound to one CPU or with a nice value does not restrict the global runtime") {
    const outcome o = in_child([] {
        findings f;
        const cmwq::cpuset all = cpus_of_this_task();
        const long nice = nice_of_this_task();
        std::thread t([&] {
            static_cast<void>(cmwq::detail::bind_this_thread(cmwq::cpuset{*all.begin()}));
            // The process may not be permitted to raise this priority again.
            const bool lowered = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 10) == 0;
            f.expect(1, lowered && runs_its_items(cmwq::system_unbound_wq), "runs no items");
        });
        t.join();
        f.expect(2, cmwq::runtime::global().cpus() == all, "the runtime does not have all CPUs");
        const auto on_it = [&](cmwq::system_workqueue& q, auto look) {
            decltype(look()) seen{};
            cmwq::work w{[&] { seen = look(); }};
            q.queue(w);
            w.flush();
            return seen;
        };
        f.expect(4, on_it(cmwq::system_unbound_wq(), cpus_of_this_task) == all, "an unbound worker may not use all");
        const bool may_come_back = ::geteuid() == 0;
        f.expect(8, !may_come_back || on_it(cmwq::system_wq(), nice_of_this_task) == nice, "a worker is nice");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("system queues: each runs its items and every call returns the same queue") {
    for (const get queue : every_queue) CHECK(runs_its_items(queue));
}

TEST_CASE("system queues: a program cannot change the shared limit") {
    for (const get queue : every_queue) {
        cmwq::workqueue_base& base = queue();
        const unsigned before = base.max_active();
        CHECK_THROWS_AS(base.set_max_active(1), std::logic_error);
        CHECK(base.max_active() == before);
    }
    cmwq::workqueue_base& bound = cmwq::system_wq();
    CHECK_THROWS_WITH(bound.set_max_active(1), Catch::Contains("\"system\"") && Catch::Contains("whole process"));
}

TEST_CASE("system queues: the freezable ones stop while the global runtime is frozen; the others do not") {
    std::atomic<int> froze{0};
    std::atomic<bool> passed{false};
    cmwq::work stands{[&] { ++froze; }};
    cmwq::work stands_too{[&] { ++froze; }};
    cmwq::work passes{[&] { passed = true; }};
    {
        const cmwq::freeze_guard still{cmwq::runtime::global()};
        cmwq::system_freezable_wq().queue(stands);
        cmwq::system_freezable_power_efficient_wq().queue(stands_too);
        for (const get queue : every_queue) {
            if (queue == cmwq::system_freezable_wq || queue == cmwq::system_freezable_power_efficient_wq) continue;
            passed = false;
            queue().queue(passes);
            passes.flush();
            CHECK(passed);
        }
        CHECK(froze == 0);
    }
    stands.flush();
    stands_too.flush();
    CHECK(froze == 2);
}
