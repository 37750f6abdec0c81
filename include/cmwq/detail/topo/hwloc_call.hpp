// SPDX-License-Identifier: BSL-1.0
//
// hwloc_call: marks a thread as inside hwloc, which has its own locks. A fork() waits until no thread is inside,
// because in the child such a lock would be locked for ever.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Lives on the stack of the thread that calls hwloc. Any thread may make one; the static functions are called by the
/// handlers of fork().
class hwloc_call {
public:
    /// Waits for the end of a fork() that has begun.
    hwloc_call() noexcept {
        // [HWLOC-1] seq_cst, as in before_fork(): of a call and a concurrent fork(), at least one sees the other.
        for (backoff b; state_.fetch_add(one_call, seq_cst) >= one_fork; b.pause()) state_.fetch_sub(one_call, release);
    }
    ~hwloc_call() { state_.fetch_sub(one_call, release); } // [HWLOC-1]
    hwloc_call(const hwloc_call&) = delete;
    hwloc_call& operator=(const hwloc_call&) = delete;

    /// Called before a fork(): lets no thread enter, and waits for the threads inside, at most for a second. hwloc may
    /// be opening a plugin, and therefore wait for a dlopen() of another thread, whose constructors may call fork().
    static void before_fork() noexcept {
        constexpr std::int64_t patience = 1'000'000'000;
        const std::int64_t end = steady_now() + patience;
        state_.fetch_add(one_fork, seq_cst);                                                    // [HWLOC-1]
        for (backoff b; state_.load(seq_cst) % one_fork != 0 && steady_now() < end;) b.pause(); // [HWLOC-1]
    }
    static void after_fork_in_parent() noexcept { state_.fetch_sub(one_fork, release); } // [HWLOC-1]
    /// The threads that were inside do not exist in the child.
    static void after_fork_in_child() noexcept { state_.store(0, relaxed); }

private:
    static constexpr unsigned one_call = 1, one_fork = 1u << 16;
    static inline constinit atomic<unsigned> state_{0}; // the number of calls, and of forks that have begun
};

}}} // namespace cmwq::CMWQ_NS::detail
