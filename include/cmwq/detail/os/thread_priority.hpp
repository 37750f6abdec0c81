// SPDX-License-Identifier: BSL-1.0
//
// Scheduling class, nice value and CPU binding of threads. A function that returns int returns 0, or the errno with
// which the system refused.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/os/cpu.hpp>

#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

inline int policy_of(sched_class c) noexcept {
    switch (c) {
    case sched_class::normal: break;
    case sched_class::batch: return SCHED_BATCH;
    case sched_class::idle: return SCHED_IDLE;
    case sched_class::fifo: return SCHED_FIFO;
    }
    return SCHED_OTHER;
}

/// The class and nice value of a thread; 0: the calling one. A real-time class counts as the normal one.
[[nodiscard]] inline own_priority priority_of(pid_t tid) noexcept {
    own_priority own;
    switch (::sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) {
    case SCHED_BATCH: own.sched = sched_class::batch; break;
    case SCHED_IDLE: own.sched = sched_class::idle; break;
    default: break;
    }
    errno = 0;
    const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid));
    if (errno == 0) own.nice = nice;
    return own;
}

/// That of the main thread of this process, because users of the system see and set these for the process. Real-time
/// classes are not taken over: they belong to the threads that they were set for.
[[nodiscard]] inline own_priority priority_of_process() noexcept { return priority_of(::getpid()); }
[[nodiscard]] inline own_priority priority_of_this_thread() noexcept { return priority_of(0); }

/// Sets the scheduling policy of the calling thread. SCHED_FIFO gets its lowest priority, and needs CAP_SYS_NICE or
/// RLIMIT_RTPRIO. The other policies need no privilege, but a seccomp filter may forbid them.
inline int become(int sched_policy) noexcept {
    if (sched_policy != SCHED_FIFO && ::sched_getscheduler(0) == sched_policy) return 0;
    sched_param p{};
    p.sched_priority = ::sched_get_priority_min(sched_policy);
    return ::sched_setscheduler(0, sched_policy, &p) == 0 ? 0 : errno;
}

/// Shortens the time slice of the calling thread until it ends, also in SCHED_IDLE: it gets the CPU more often, for a
/// shorter time, with the same share. The thread must be in SCHED_OTHER. As of Linux 6.12; no effect on older kernels.
inline void shorten_slice() noexcept {
    struct { // sched_attr, as of Linux 3.14
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t slice, deadline, period;
    } a{};
    a.size = sizeof a;
    a.policy = SCHED_OTHER;
    a.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)));
    a.slice = 100'000; // nanoseconds; the kernel's minimum
    ::syscall(SYS_sched_setattr, 0, &a, 0);
}

/// Lets the time-outs of the calling thread end as soon as they are due. By default the kernel may add 50 µs, to wake
/// up less often. A seccomp filter may forbid that; the time-outs then end later.
inline void shorten_timer_slack() noexcept {
    ::prctl(PR_SET_TIMERSLACK, 1ul); // nanoseconds; 0 would restore the default
}

/// Sets the nice value of the calling thread; on Linux each thread has its own. Lowering it needs CAP_SYS_NICE or
/// RLIMIT_NICE.
inline int set_nice(int nice) noexcept {
    const auto tid = static_cast<id_t>(::syscall(SYS_gettid));
    errno = 0;
    if (::getpriority(PRIO_PROCESS, tid) == nice && errno == 0) return 0;
    return ::setpriority(PRIO_PROCESS, tid, nice) == 0 ? 0 : errno;
}

/// Binds the thread of this process with that system id, by default the calling one.
inline int bind_to(const cpuset& cpus, long tid = 0) noexcept {
    kernel_cpus set;
    for (const unsigned cpu : cpus) {
        if (cpu >= kernel_cpus::most) return EINVAL;
        set.insert(cpu);
    }
    return set.apply_to(tid);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
