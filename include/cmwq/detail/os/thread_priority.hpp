// SPDX-License-Identifier: BSL-1.0
//
// Scheduling class, nice value and CPU binding of the calling thread. Every function returns 0 or the errno with
// which the system refused.
#pragma once

#include <cmwq/detail/config.hpp>

#include <cerrno>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq::inline CMWQ_NS::detail::os {

/// SCHED_IDLE needs no privilege; a seccomp filter may forbid it all the same.
inline int become_idle_class() noexcept {
    const sched_param p{};
    return ::sched_setscheduler(0, SCHED_IDLE, &p) == 0 ? 0 : errno;
}

/// Lowest real-time priority. Needs CAP_SYS_NICE or RLIMIT_RTPRIO.
inline int become_fifo() noexcept {
    sched_param p{};
    p.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
    return ::sched_setscheduler(0, SCHED_FIFO, &p) == 0 ? 0 : errno;
}

/// On Linux a nice value belongs to the thread. Lowering it needs CAP_SYS_NICE or RLIMIT_NICE.
inline int set_nice(int nice) noexcept {
    const auto tid = static_cast<id_t>(::syscall(SYS_gettid));
    return ::setpriority(PRIO_PROCESS, tid, nice) == 0 ? 0 : errno;
}

inline int bind_to_cpu(int cpu) noexcept {
    // A set of the size that this CPU needs: machines may have more CPUs than cpu_set_t has bits.
    const auto bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t* set = CPU_ALLOC(cpu + 1);
    if (set == nullptr) return ENOMEM;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(static_cast<unsigned>(cpu), bytes, set);
    const int r = ::sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    return r;
}

/// Undoes what a thread has inherited from a bound worker: the CPUs are those for which `each` calls its argument.
template <class ForEachCpu>
void become_ordinary(ForEachCpu&& each) {
    unsigned end = 0;
    each([&](unsigned cpu) { end = cpu >= end ? cpu + 1 : end; });
    const auto bytes = CPU_ALLOC_SIZE(end);
    cpu_set_t* set = CPU_ALLOC(end);
    if (set == nullptr) return;
    CPU_ZERO_S(bytes, set);
    each([&](unsigned cpu) { CPU_SET_S(cpu, bytes, set); });
    ::sched_setaffinity(0, bytes, set);
    CPU_FREE(set);
    const sched_param p{};
    ::sched_setscheduler(0, SCHED_OTHER, &p);
    set_nice(0);
}

} // namespace cmwq::inline CMWQ_NS::detail::os
