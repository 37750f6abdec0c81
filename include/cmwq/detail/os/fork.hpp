// SPDX-License-Identifier: BSL-1.0
//
// Handlers of fork(), and a thread of the library that becomes the only thread of a child.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/os/thread_priority.hpp>

#include <csignal>
#include <pthread.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Installs the handlers. Called once in a process. If there is no memory, they are not installed, and the library does
/// not work in a child of fork(), as after vfork().
inline void at_fork(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
    ::pthread_atfork(prepare, parent, child);
}

/// The signals that the thread which makes the object blocks.
class signal_mask {
public:
    signal_mask() noexcept { ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked_); }
    void apply() const noexcept { ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr); }

private:
    sigset_t blocked_{};
};

/// A thread of the library has called fork(): in the child it gets the CPUs, the priority and the signal mask of the
/// program, as far as the system permits it. Only system calls.
inline void return_to_program(const cpuset& cpus, const own_priority& own, const signal_mask& signals) noexcept {
    static_cast<void>(bind_to(cpus));
    static_cast<void>(become(policy_of(own.sched)));
    static_cast<void>(set_nice(own.nice));
    signals.apply();
}

}}} // namespace cmwq::CMWQ_NS::detail::os
