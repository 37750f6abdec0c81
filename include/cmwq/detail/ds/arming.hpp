// SPDX-License-Identifier: BSL-1.0
//
// arming: a flag that keeps a watching thread awake. Setting it costs one load while the thread is awake.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// Any thread arms it when it has made something pending, and then wakes the thread that watches. That thread says so
/// when it is awake, and disarms before it sleeps.
///
/// A thread may be stopped for seconds between arming and waking. So a caller that finds the flag armed, but not
/// answered yet, wakes the watching thread as well.
class arming {
public:
    /// Which arming it was; `none`: there is nothing to do.
    using ticket = std::uint32_t;
    static constexpr ticket none = 0;

    arming() noexcept = default;
    arming(const arming&) = delete;
    arming& operator=(const arming&) = delete;

    /// Any thread. Unless it returns `none`, the caller has to wake the watching thread, as soon as it can.
    [[nodiscard]] ticket arm() noexcept {
        // [ARM-1], [ARM-3] Something was made pending, then the look at the flag; pairs [ARM-2], where the watching
        // thread takes the flag back and then looks at what is pending. All seq_cst: one of the two sees the other.
        ticket seen = word_.load(seq_cst);
        while (state_of(seen) == disarmed) {
            const ticket mine = (seen & ~state_mask) + one_arming + armed;
            if (word_.compare_exchange_weak(seen, mine, seq_cst, seq_cst)) return mine; // [ARM-1]
        }
        return state_of(seen) == answered ? none : seen;
    }
    /// All that this arming is to wake has been woken.
    void answer(ticket t) noexcept {
        // [ARM-1] It may be an older arming than the one of now, which is not answered by that.
        word_.compare_exchange_strong(t, t - armed + answered, seq_cst, relaxed);
    }
    /// The watching thread is awake.
    void answer() noexcept {
        if (const ticket seen = word_.load(relaxed); state_of(seen) == armed) answer(seen);
    }
    /// The watching thread, before its last look at what is pending.
    void disarm() noexcept {
        if (state_of(word_.load(seq_cst)) != disarmed) word_.fetch_and(~state_mask, seq_cst); // [ARM-2], [ARM-3]
    }
    /// The watching thread has found something in that look, and stays awake.
    void stay_armed() noexcept {
        if (arm() != none) answer();
    }

    [[nodiscard]] bool is_armed() const noexcept { return state_of(word_.load(seq_cst)) != disarmed; } // [PARK-3]

private:
    // The two lowest bits; above them the armings are counted.
    static constexpr ticket disarmed = 0, armed = 1, answered = 2, state_mask = 3, one_arming = 4;
    static constexpr ticket state_of(ticket t) noexcept { return t & state_mask; }

    atomic<ticket> word_{disarmed};
};

} // namespace cmwq::inline CMWQ_NS::detail
