// SPDX-License-Identifier: BSL-1.0
//
// hwloc_call: a thread is inside of hwloc, which has locks of its own. A fork() waits until no thread is: the child would
// find such a lock closed for good.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class hwloc_call {
public:
    /// Waits for a fork() that has begun.
    hwloc_call() noexcept {
        // [HWLOC-1] Seq_cst, as in before_fork(): of a call and a fork() at least one sees the other.
        for (backoff b; state_.fetch_add(one_call, seq_cst) >= one_fork; b.pause()) state_.fetch_sub(one_call, release);
    }
    ~hwloc_call() { state_.fetch_sub(one_call, release); } // [HWLOC-1]
    hwloc_call(const hwloc_call&) = delete;
    hwloc_call& operator=(const hwloc_call&) = delete;

    /// Before a fork(): lets no thread in, and waits for those that are inside, but not for ever. hwloc may be opening a
    /// plugin, for which it waits for a dlopen() of another thread, one of whose constructors may be calling fork().
    static void before_fork() noexcept {
        constexpr std::int64_t patience = 1'000'000'000;
        const std::int64_t end = steady_now() + patience;
        state_.fetch_add(one_fork, seq_cst);                                                    // [HWLOC-1]
        for (backoff b; state_.load(seq_cst) % one_fork != 0 && steady_now() < end;) b.pause(); // [HWLOC-1]
    }
    static void after_fork_in_parent() noexcept { state_.fetch_sub(one_fork, release); } // [HWLOC-1]
    /// None of the other threads is in the child.
    static void after_fork_in_child() noexcept { state_.store(0, relaxed); }

private:
    static constexpr unsigned one_call = 1, one_fork = 1u << 16;
    static inline constinit atomic<unsigned> state_{0}; // calls, and forks that have begun
};

} // namespace cmwq::inline CMWQ_NS::detail
