// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/thread.hpp>

#include <cmwq/detail/os/thread.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

TEST_CASE("thread: a thread with exact time-outs has the smallest timer slack and others have that of the process") {
    const int before = ::prctl(PR_GET_TIMERSLACK);
    int slack = 0;
    for (const bool exact : {false, true}) {
        std::thread([&] {
            const cmwq::detail::thread_attributes a{.exact_timeouts = exact};
            static_cast<void>(cmwq::detail::apply_to_this_thread(a));
            slack = ::prctl(PR_GET_TIMERSLACK);
        }).join();
        CHECK(slack == (exact ? 1 : before));
    }
}

TEST_CASE("thread: a thread that a real-time or an idle thread makes begins in the normal class on all CPUs") {
    const int policy = GENERATE(SCHED_FIFO, SCHED_RR, SCHED_IDLE);
    cpu_set_t of_process;
    REQUIRE(::sched_getaffinity(::getpid(), sizeof of_process, &of_process) == 0);
    struct seen {
        int sched = -1;
        cpu_set_t cpus;
    } now{};
    bool permitted = false;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
            if (CPU_ISSET(cpu, &of_process)) CPU_SET(cpu, &one);
        }
        if (::sched_setaffinity(0, sizeof one, &one) != 0) return;
        sched_param p{};
        p.sched_priority = ::sched_get_priority_min(policy);
        if (::sched_setscheduler(0, policy, &p) != 0) return;
        cmwq::detail::os::thread made;
        const int error = made.start(
            [](void* to) {
                auto& s = *static_cast<seen*>(to);
                s.sched = ::sched_getscheduler(0);
                ::sched_getaffinity(0, sizeof s.cpus, &s.cpus);
            },
            &now);
        permitted = error == 0 && ::geteuid() == 0; // others may get EPERM, and then the class of the maker
        made.join();
    }).join();
    if (!permitted) return;
    CHECK(now.sched == SCHED_OTHER);
    CHECK(CPU_EQUAL(&now.cpus, &of_process));
}
