// SPDX-License-Identifier: BSL-1.0
//
// A memory barrier that one thread executes on behalf of all threads of the process: membarrier(2).
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/sanitizer.hpp>
#include <cmwq/detail/os/clock.hpp>

#include <cstdint>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Two threads each write something, and then read what the other one has written. At least one of them must see the
/// other's write. If one of the two does that rarely, it calls run() in between, and the other one, which does it all
/// the time, calls only here(), which costs nothing.
///
/// Any thread may call the members.
class process_barrier {
public:
    /// How many locked instructions a thread must save to make up for one run(). That takes one or two microseconds of
    /// each CPU that runs the process.
    static constexpr std::uint32_t worth = 512;

    /// Whether run() is possible: the system permits it, and the process is registered. Before that, nobody may call
    /// here() instead of a barrier.
    [[nodiscard]] static bool is_ready() noexcept { return state_.load(seq_cst) == state::ready; } // [READY-1]
    /// Asks for a call of prepare(), once in the process.
    static void want() noexcept {
        state seen = state::unknown;
        if (state_.load(relaxed) == seen) state_.compare_exchange_strong(seen, state::wanted, relaxed, relaxed);
    }
    [[nodiscard]] static bool is_wanted() noexcept { return state_.load(relaxed) == state::wanted; }
    /// The kernel lets a program that already has threads wait for some milliseconds.
    static void prepare() noexcept {
        if (is_wanted()) register_process(state::wanted);
    }
    /// The same before somebody wants it, in a program that has no threads yet: there it takes microseconds.
    static void prepare_if_quick() noexcept {
#if __has_include(<sys/single_threaded.h>)
        if (__libc_single_threaded && state_.load(relaxed) == state::unknown) register_process(state::unknown);
#endif
    }
    /// The place of the barrier in the thread that needs none: the compiler must not move accesses across it.
    static void here() noexcept { std::atomic_signal_fence(seq_cst); } // [BARRIER]
    /// When it returns, each thread that runs at that time has executed a full memory barrier since the call, and so
    /// has the caller. Takes a microsecond or some: the system interrupts the CPUs that run threads of the process.
    static void run() noexcept {
        if (call(barrier)) return;
        const state s = state_.load(seq_cst); // [READY-1]
        if (s == state::ready || s == state::lost) pause();
    }

private:
    // Lost: it was ready, then came a filter that forbids the system call. Threads may still rely on here().
    enum class state : unsigned char { unknown, wanted, ready, refused, lost };
#ifdef CMWQ_THREAD_SANITIZER
    static constexpr state at_first = state::refused; // ThreadSanitizer does not know what the system call does
#else
    static constexpr state at_first = state::unknown;
#endif
    static constexpr int registration = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                         barrier = MEMBARRIER_CMD_PRIVATE_EXPEDITED;

    // Another thread may do the same.
    static void register_process(state before) noexcept {
        const state after = call(registration) ? state::ready : state::refused;
        state_.compare_exchange_strong(before, after, seq_cst, relaxed); // [READY-1]
    }
    // No CPU keeps a store to itself for nearly as long.
    static void pause() noexcept {
        constexpr std::int64_t duration = 1'000'000;
        state_.store(state::lost, seq_cst); // [READY-1]
        const std::int64_t end = monotonic_now() + duration;
        while (monotonic_now() < end) sleep_for(duration); // a signal ends a sleep early
    }
    static bool call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

    static inline atomic<state> state_{at_first};
};

}}} // namespace cmwq::CMWQ_NS::detail::os
