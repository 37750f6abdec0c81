// SPDX-License-Identifier: BSL-1.0
//
// The fault backend: the std backend with injected faults. Other threads run between the steps of a protocol, waits
// return early, wake-ups come twice, the clock jumps, threads cannot be created. This file has the configuration and
// the random decisions.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sched.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::fault {

/// The probability of each fault, between 0 and 1. With all zero, as at the start of a program, the backend behaves as
/// the std backend.
struct options {
    std::uint64_t seed = 0;
    double early_return = 0;                   ///< a wait returns at once, as after a signal (EINTR)
    double double_wake = 0;                    ///< a wake-up is sent twice
    double yield = 0;                          ///< a thread yields at a step of a protocol
    double nap = 0;                            ///< a thread sleeps there, for at most a tenth of a millisecond
    double weak_failure = 0;                   ///< compare_exchange_weak() fails although the value is the expected one
    double no_thread = 0;                      ///< the start of a thread fails with EAGAIN
    double clock_jump = 0;                     ///< steady_now() jumps ahead
    std::int64_t longest_jump = 2'000'000'000; ///< nanoseconds
};

/// The number of faults injected so far, by kind.
struct counts {
    std::uint64_t early_returns, double_wakes, yields, naps, weak_failures, refused_threads, clock_jumps;
};

namespace internal {

/// A probability as n / 2^32, so that 1 always hits.
using chance = std::atomic<std::uint64_t>;
using counter = std::atomic<std::uint64_t>;

/// The configuration and the counters of the process. Any thread may use it.
struct state {
    std::atomic<std::uint64_t> seed{0};
    std::atomic<unsigned> generation{0}; // of the seed: threads restart their sequences when it changes
    std::atomic<unsigned> nr_threads{0}; // that have drawn a number with this seed
    chance early_return{0}, double_wake{0}, yield{0}, nap{0}, weak_failure{0}, no_thread{0}, clock_jump{0};
    std::atomic<std::int64_t> longest_jump{0};
    std::atomic<std::int64_t> ahead{0}; // nanoseconds by which steady_now() is ahead of the system; never falls
    counter early_returns{0}, double_wakes{0}, yields{0}, naps{0}, weak_failures{0}, refused_threads{0}, clock_jumps{0};
};

inline constinit state the_state;

/// The random number generator of a thread.
struct dice {
    std::uint64_t state = 0;
    unsigned generation = 0;
};

inline constinit thread_local dice the_dice;

// The next random number of the calling thread (splitmix64). The sequence depends on the seed, and on the order in
// which the threads draw their first numbers.
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

// --- for tests -------------------------------------------------------------------------------------------------------

/// Sets the faults of all threads from here on. The clock keeps its jumps.
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

/// Sets only the probability that a thread cannot be created, for a phase of a test: a runtime cannot be made without
/// its service thread.
inline void fail_threads(double chance) noexcept { internal::set(internal::the_state.no_thread, chance); }

/// Sets only the probability of clock jumps, as around code that measures time.
inline void jump_clock(double chance) noexcept { internal::set(internal::the_state.clock_jump, chance); }

/// Sets only the probability of naps, as around code that counts threads and expects that none blocks: a thread that
/// naps is blocked.
inline void let_nap(double chance) noexcept { internal::set(internal::the_state.nap, chance); }

/// Moves the clock ahead, as after a suspend of that length. It cannot be moved back, because it is monotonic.
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

// --- for the backend -------------------------------------------------------------------------------------------------

/// A random number in [0, n).
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

/// Called between two steps of a protocol: may let other threads run here.
inline void step() noexcept {
    internal::state& s = internal::the_state;
    if (internal::hits(s.yield, s.yields)) ::sched_yield();
    if (!internal::hits(s.nap, s.naps)) return;
    const timespec ts{0, static_cast<long>(below(100'000))};
    ::nanosleep(&ts, nullptr);
}

/// Whether sleeping threads must check the clock from time to time, because nothing else wakes them after a jump.
inline bool clock_may_jump() noexcept {
    return internal::the_state.clock_jumps.load(std::memory_order_relaxed) != 0 ||
           internal::the_state.clock_jump.load(std::memory_order_relaxed) != 0;
}

/// Nanoseconds by which steady_now() is ahead.
inline std::int64_t ahead() noexcept { return internal::the_state.ahead.load(std::memory_order_relaxed); }

/// As ahead(), after a jump that may happen here.
inline std::int64_t ahead_after_a_jump() noexcept {
    internal::state& s = internal::the_state;
    if (internal::hits(s.clock_jump, s.clock_jumps)) {
        const auto longest = static_cast<std::uint64_t>(s.longest_jump.load(std::memory_order_relaxed));
        s.ahead.fetch_add(static_cast<std::int64_t>(internal::next() % (longest + 1)), std::memory_order_relaxed);
    }
    return ahead();
}

}}} // namespace cmwq::CMWQ_NS::detail::fault
