// SPDX-License-Identifier: BSL-1.0
//
// Scheduling class, nice value and CPU binding of the calling thread. Every function returns 0 or the errno with
// which the system refused.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/thread_types.hpp>

#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq::inline CMWQ_NS::detail::os {

inline int policy_of(sched_class c) noexcept {
    switch (c) {
    case sched_class::normal: break;
    case sched_class::batch: return SCHED_BATCH;
    case sched_class::idle: return SCHED_IDLE;
    case sched_class::fifo: return SCHED_FIFO;
    }
    return SCHED_OTHER;
}

/// What the main thread of this process has: that is what a user of the system sees, and sets from outside. Real-time
/// classes are for the threads that were given them.
[[nodiscard]] inline own_priority priority_of_process() noexcept {
    own_priority own;
    const pid_t main_thread = ::getpid();
    switch (::sched_getscheduler(main_thread) & ~SCHED_RESET_ON_FORK) {
    case SCHED_BATCH: own.sched = sched_class::batch; break;
    case SCHED_IDLE: own.sched = sched_class::idle; break;
    default: break;
    }
    errno = 0;
    const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(main_thread));
    if (errno == 0) own.nice = nice;
    return own;
}

/// SCHED_FIFO gets its lowest priority, and needs CAP_SYS_NICE or RLIMIT_RTPRIO. The others need no privilege; a seccomp
/// filter may forbid them all the same.
inline int become(int sched_policy) noexcept {
    if (sched_policy != SCHED_FIFO && ::sched_getscheduler(0) == sched_policy) return 0;
    sched_param p{};
    p.sched_priority = ::sched_get_priority_min(sched_policy);
    return ::sched_setscheduler(0, sched_policy, &p) == 0 ? 0 : errno;
}

/// Until the end of the calling thread, also in SCHED_IDLE: it gets the CPU often and for a short time, instead of rarely
/// and for long. Its share stays the same. For a thread in SCHED_OTHER, as of Linux 6.12; without effect elsewhere.
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
    a.slice = 100'000; // nanoseconds; the shortest that there is
    ::syscall(SYS_sched_setattr, 0, &a, 0);
}

/// On Linux a nice value belongs to the thread. Lowering it needs CAP_SYS_NICE or RLIMIT_NICE.
inline int set_nice(int nice) noexcept {
    const auto tid = static_cast<id_t>(::syscall(SYS_gettid));
    errno = 0;
    if (::getpriority(PRIO_PROCESS, tid) == nice && errno == 0) return 0;
    return ::setpriority(PRIO_PROCESS, tid, nice) == 0 ? 0 : errno;
}

/// The thread of this process with that number, by default the calling one.
inline int bind_to(const cpuset& cpus, long tid = 0) noexcept {
    // A set of the size that these CPUs need: machines may have more CPUs than cpu_set_t has bits.
    unsigned end = 1;
    for (const unsigned cpu : cpus) end = cpu + 1;
    const auto bytes = CPU_ALLOC_SIZE(end);
    cpu_set_t* set = CPU_ALLOC(end);
    if (set == nullptr) return ENOMEM;
    CPU_ZERO_S(bytes, set);
    for (const unsigned cpu : cpus) CPU_SET_S(cpu, bytes, set);
    const int r = ::sched_setaffinity(static_cast<pid_t>(tid), bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    return r;
}

} // namespace cmwq::inline CMWQ_NS::detail::os
