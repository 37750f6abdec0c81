// SPDX-License-Identifier: BSL-1.0
//
// The fault backend: the real thing, at its worst. Threads are pushed in between the steps of a protocol, waits return
// without a reason, wakes come twice, the clock jumps, threads cannot be made. This is what it is told, and the dice
// that its parts throw.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sched.h>

namespace cmwq::inline CMWQ_NS::detail::fault {

/// How often what happens: chances between 0 and 1. All zero, as at the start of a program: the std backend.
struct options {
    std::uint64_t seed = 0;
    double early_return = 0;                   ///< a wait returns at once, as after a signal (EINTR)
    double double_wake = 0;                    ///< a wake is given twice
    double yield = 0;                          ///< a thread gives way at a step of a protocol
    double nap = 0;                            ///< or sleeps there, a tenth of a millisecond at the most
    double weak_failure = 0;                   ///< compare_exchange_weak() fails though the value is the expected one
    double no_thread = 0;                      ///< starting a thread gives EAGAIN
    double clock_jump = 0;                     ///< steady_now() jumps ahead
    std::int64_t longest_jump = 2'000'000'000; ///< nanoseconds
};

/// What has been done to the program so far.
struct counts {
    std::uint64_t early_returns, double_wakes, yields, naps, weak_failures, refused_threads, clock_jumps;
};

namespace internal {

/// Chances are kept as n / 2^32, so that 1 is sure to hit.
using chance = std::atomic<std::uint64_t>;
using counter = std::atomic<std::uint64_t>;

struct state {
    std::atomic<std::uint64_t> seed{0};
    std::atomic<unsigned> generation{0}; // of the seed: threads start anew with another one
    std::atomic<unsigned> nr_threads{0}; // that have thrown dice with this seed
    chance early_return{0}, double_wake{0}, yield{0}, nap{0}, weak_failure{0}, no_thread{0}, clock_jump{0};
    std::atomic<std::int64_t> longest_jump{0};
    std::atomic<std::int64_t> ahead{0}; // nanoseconds by which steady_now() is ahead of the system; never falls
    counter early_returns{0}, double_wakes{0}, yields{0}, naps{0}, weak_failures{0}, refused_threads{0}, clock_jumps{0};
};

inline constinit state the_state;

struct dice {
    std::uint64_t state = 0;
    unsigned generation = 0;
};

inline constinit thread_local dice the_dice;

// A thread's numbers follow from the seed and from the order in which threads came to their first throw. (splitmix64)
inline std::uint64_t next() noexcept {
    dice& d = the_dice;
    const unsigned now = the_state.generation.load(std::memory_order_acquire);
    if (d.generation != now) {
        d.generation = now;
        const std::uint64_t number = the_state.nr_threads.fetch_add(1, std::memory_order_relaxed) + 1;
        d.state = the_state.seed.load(std::memory_order_relaxed) ^ (number * 0xd1342543de82ef95);
    }
    std::uint64_t z = d.state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

inline void set(chance& c, double p) noexcept {
    c.store(static_cast<std::uint64_t>((p < 0 ? 0 : p > 1 ? 1 : p) * 4294967296.0), std::memory_order_relaxed);
}

inline bool hits(const chance& c, counter& count) noexcept {
    const std::uint64_t p = c.load(std::memory_order_relaxed);
    if (p == 0 || (next() >> 32) >= p) return false;
    count.fetch_add(1, std::memory_order_relaxed);
    return true;
}

} // namespace internal

// --- what tests say ---------------------------------------------------------------------------------------------------

/// From here on, in all threads. The clock stays where it has jumped to.
inline void configure(const options& o) noexcept {
    internal::state& s = internal::the_state;
    internal::set(s.early_return, o.early_return);
    internal::set(s.double_wake, o.double_wake);
    internal::set(s.yield, o.yield);
    internal::set(s.nap, o.nap);
    internal::set(s.weak_failure, o.weak_failure);
    internal::set(s.no_thread, o.no_thread);
    internal::set(s.clock_jump, o.clock_jump);
    s.longest_jump.store(o.longest_jump, std::memory_order_relaxed);
    s.seed.store(o.seed, std::memory_order_relaxed);
    s.nr_threads.store(0, std::memory_order_relaxed);
    s.generation.fetch_add(1, std::memory_order_release);
}

/// Only this, as for a phase of a test: a runtime cannot be made without its service thread.
inline void fail_threads(double chance) noexcept { internal::set(internal::the_state.no_thread, chance); }

/// Only this, as around what measures time.
inline void jump_clock(double chance) noexcept { internal::set(internal::the_state.clock_jump, chance); }

/// Only this, as around what counts the threads that it takes when nothing blocks: who naps is blocked.
inline void let_nap(double chance) noexcept { internal::set(internal::the_state.nap, chance); }

/// As after a suspend of that length. The clock is monotonic: there is no way back.
inline void jump_clock_by(std::int64_t nanoseconds) noexcept {
    internal::the_state.ahead.fetch_add(nanoseconds, std::memory_order_relaxed);
    internal::the_state.clock_jumps.fetch_add(1, std::memory_order_relaxed);
}

inline counts injected() noexcept {
    const internal::state& s = internal::the_state;
    const auto get = [](const internal::counter& c) { return c.load(std::memory_order_relaxed); };
    return {get(s.early_returns), get(s.double_wakes),    get(s.yields),     get(s.naps),
            get(s.weak_failures), get(s.refused_threads), get(s.clock_jumps)};
}

// --- what the backend asks --------------------------------------------------------------------------------------------

/// A number in [0, n).
inline std::uint64_t below(std::uint64_t n) noexcept { return (internal::next() >> 32) * n >> 32; }

inline bool returns_early() noexcept {
    return internal::hits(internal::the_state.early_return, internal::the_state.early_returns);
}
inline bool wakes_twice() noexcept {
    return internal::hits(internal::the_state.double_wake, internal::the_state.double_wakes);
}
inline bool fails_weakly() noexcept {
    return internal::hits(internal::the_state.weak_failure, internal::the_state.weak_failures);
}
inline bool refuses_thread() noexcept {
    return internal::hits(internal::the_state.no_thread, internal::the_state.refused_threads);
}

/// Between two steps of a protocol: here another thread may get in.
inline void step() noexcept {
    internal::state& s = internal::the_state;
    if (internal::hits(s.yield, s.yields)) ::sched_yield();
    if (!internal::hits(s.nap, s.naps)) return;
    const timespec ts{0, static_cast<long>(below(100'000))};
    ::nanosleep(&ts, nullptr);
}

/// Whether sleepers have to look at the clock from time to time: nobody else tells them that it has jumped.
inline bool clock_may_jump() noexcept {
    return internal::the_state.clock_jumps.load(std::memory_order_relaxed) != 0 ||
           internal::the_state.clock_jump.load(std::memory_order_relaxed) != 0;
}

/// Nanoseconds by which steady_now() is ahead.
inline std::int64_t ahead() noexcept { return internal::the_state.ahead.load(std::memory_order_relaxed); }

/// The same, and perhaps more than before.
inline std::int64_t ahead_after_a_jump() noexcept {
    internal::state& s = internal::the_state;
    if (internal::hits(s.clock_jump, s.clock_jumps)) {
        const auto longest = static_cast<std::uint64_t>(s.longest_jump.load(std::memory_order_relaxed));
        s.ahead.fetch_add(static_cast<std::int64_t>(internal::next() % (longest + 1)), std::memory_order_relaxed);
    }
    return ahead();
}

} // namespace cmwq::inline CMWQ_NS::detail::fault
