// SPDX-License-Identifier: BSL-1.0
//
// A memory barrier that one thread executes on behalf of all threads of the process: membarrier(2).
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/sanitizer.hpp>

#include <cstdint>
#include <ctime>
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
        if (is_wanted()) register_process();
    }
    /// The same before somebody wants it, in a program that has no threads yet: there it takes microseconds.
    static void prepare_if_quick() noexcept {
#if __has_include(<sys/single_threaded.h>)
        if (__libc_single_threaded && state_.load(relaxed) == state::unknown) register_process();
#endif
    }
    /// The place of the barrier in the thread that needs none: the compiler must not move accesses across it.
    static void here() noexcept { std::atomic_signal_fence(seq_cst); } // [BARRIER]
    /// When it returns, each thread that runs at that time has executed a full memory barrier since the call, and so
    /// has the caller. Takes a microsecond or some: the system interrupts the CPUs that run threads of the process.
    static void run() noexcept {
        if (call(barrier) || !is_ready()) return;
        // A filter of system calls that came later forbids it. No CPU keeps a store to itself for nearly as long.
        state_.store(state::refused, seq_cst); // [READY-1]
        const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
        ::nanosleep(&pause, nullptr);
    }

private:
    enum class state : unsigned char { unknown, wanted, ready, refused };
#ifdef CMWQ_THREAD_SANITIZER
    static constexpr state at_first = state::refused; // ThreadSanitizer does not know what the system call does
#else
    static constexpr state at_first = state::unknown;
#endif
    static constexpr int registration = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                         barrier = MEMBARRIER_CMD_PRIVATE_EXPEDITED;

    static void register_process() noexcept {
        state_.store(call(registration) ? state::ready : state::refused, seq_cst); // [READY-1]
    }
    static bool call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

    static inline atomic<state> state_{at_first};
};

}}} // namespace cmwq::CMWQ_NS::detail::os
