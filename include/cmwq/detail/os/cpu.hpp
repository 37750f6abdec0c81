// SPDX-License-Identifier: BSL-1.0
//
// The CPUs that a thread of this process may use, and the ids of threads.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>

#include <cerrno>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The system's id of the calling thread.
inline long this_thread_id() noexcept { return ::syscall(SYS_gettid); }

/// The system's id of the main thread of the process.
inline long main_thread_id() noexcept { return ::getpid(); }

/// A set of CPUs as the system calls take it. On the stack: threads use it that must not allocate. No Linux has more
/// CPUs.
class kernel_cpus {
public:
    static constexpr unsigned most = 16384;

    kernel_cpus() noexcept { CPU_ZERO_S(sizeof words_, set()); }
    [[nodiscard]] bool contains(unsigned cpu) noexcept { return CPU_ISSET_S(cpu, sizeof words_, set()); }
    void insert(unsigned cpu) noexcept { CPU_SET_S(cpu, sizeof words_, set()); }
    /// Returns 0, or the errno of the system call. `tid`: 0 is the calling thread.
    [[nodiscard]] int read_of(long tid) noexcept {
        return ::sched_getaffinity(static_cast<pid_t>(tid), sizeof words_, set()) == 0 ? 0 : errno;
    }
    [[nodiscard]] int apply_to(long tid) noexcept {
        return ::sched_setaffinity(static_cast<pid_t>(tid), sizeof words_, set()) == 0 ? 0 : errno;
    }
    /// For a thread that is made with these attributes.
    void give_to(pthread_attr_t& a) noexcept { ::pthread_attr_setaffinity_np(&a, sizeof words_, set()); }

private:
    cpu_set_t* set() noexcept { return reinterpret_cast<cpu_set_t*>(words_); }

    unsigned long words_[most / (8 * sizeof(unsigned long))];
};

/// The CPUs that a thread may use, on machines of any size. Empty: the system does not say. `tid`: 0 is the calling
/// thread. Throws std::bad_alloc.
inline cpuset allowed_cpus(long tid = 0) {
    cpuset allowed;
    kernel_cpus cpus;
    if (cpus.read_of(tid) != 0) return allowed;
    for (unsigned c = 0; c < kernel_cpus::most; ++c) {
        if (cpus.contains(c)) allowed.insert(c);
    }
    return allowed;
}

}}} // namespace cmwq::CMWQ_NS::detail::os
