// SPDX-License-Identifier: BSL-1.0
//
// The CPUs that a thread of this process may use, and the ids of threads.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cerrno>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The system's id of the calling thread.
inline long this_thread_id() noexcept { return ::syscall(SYS_gettid); }

/// The system's id of the main thread of the process.
inline long main_thread_id() noexcept { return ::getpid(); }

/// Calls `f(unsigned)` for every CPU of a thread's set, on machines of any size. `tid`: by default the calling thread.
/// If the system does not return the set, calls `f(0)`.
template <class F>
void for_each_allowed_cpu(F&& f, long tid = 0) {
    for (unsigned bits = 1024; bits <= 65536; bits *= 2) {
        struct allocated { // f may throw
            cpu_set_t* set;
            ~allocated() { CPU_FREE(set); }
        } const a{CPU_ALLOC(bits)};
        cpu_set_t* const set = a.set;
        if (set == nullptr) break;
        const auto bytes = CPU_ALLOC_SIZE(bits);
        CPU_ZERO_S(bytes, set);
        const int r = ::sched_getaffinity(static_cast<pid_t>(tid), bytes, set);
        const bool too_small = r != 0 && errno == EINVAL;
        for (unsigned c = 0; r == 0 && c < bits; ++c) {
            if (CPU_ISSET_S(c, bytes, set)) f(c);
        }
        if (r == 0) return;
        if (!too_small) break;
    }
    f(0u);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
