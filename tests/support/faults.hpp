// SPDX-License-Identifier: BSL-1.0
//
// Controls the faults of a test that is built with the fault backend. With the other backends nothing has an effect.
#pragma once

#include <cmwq/detail/base/config.hpp>

#if CMWQ_SYNC == 1
#include <fault/fault.hpp>
#endif

namespace cmwq_test {

#if CMWQ_SYNC == 1

/// The probability that the library's clock jumps when it is read, and the probability that a thread sleeps at a step
/// of a protocol, unless a test sets others.
inline constexpr double chance_of_a_clock_jump = 0.01, chance_of_a_nap = 0.0005;

inline void set_clock_jumps(bool on) { cmwq::detail::fault::jump_clock(on ? chance_of_a_clock_jump : 0); }
inline void set_naps(bool on) { cmwq::detail::fault::let_nap(on ? chance_of_a_nap : 0); }

#else

inline void set_clock_jumps(bool) {}
inline void set_naps(bool) {}

#endif

/// For a test that measures time: while an object lives, the clock does not jump.
class without_clock_jumps {
public:
    without_clock_jumps() { set_clock_jumps(false); }
    ~without_clock_jumps() { set_clock_jumps(true); }
    without_clock_jumps(const without_clock_jumps&) = delete;
    without_clock_jumps& operator=(const without_clock_jumps&) = delete;
};

/// For a test that counts threads and in which no item blocks: while an object lives, no fault makes a thread sleep. A
/// worker that sleeps is blocked, and the detectors replace it, correctly.
class without_naps {
public:
    without_naps() { set_naps(false); }
    ~without_naps() { set_naps(true); }
    without_naps(const without_naps&) = delete;
    without_naps& operator=(const without_naps&) = delete;
};

} // namespace cmwq_test
