// SPDX-License-Identifier: BSL-1.0
//
// arming: a flag that keeps a watching thread awake. While that thread is awake, setting the flag costs one load.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread arms the flag after it has made something pending, and then wakes the watching thread. The watching
/// thread answers when it is awake, and disarms the flag before it sleeps.
///
/// A thread may be preempted for seconds between arming and waking. So a caller that finds the flag armed, but not yet
/// answered, wakes the watching thread as well.
class arming {
public:
    /// Identifies an arming; `none`: the caller need not wake.
    using ticket = std::uint32_t;
    static constexpr ticket none = 0;

    arming() noexcept = default;
    arming(const arming&) = delete;
    arming& operator=(const arming&) = delete;

    /// Any thread. Unless it returns `none`, the caller must wake the watching thread as soon as it can.
    [[nodiscard]] ticket arm() noexcept {
        // [ARM-1], [ARM-3] The caller makes something pending, then reads the flag; pairs [ARM-2], where the watching
        // thread takes the flag back, then checks what is pending. All are seq_cst: one of the two sees the other.
        ticket seen = word_.load(seq_cst);
        while (state_of(seen) == disarmed) {
            const ticket mine = (seen & ~state_mask) + one_arming + armed;
            if (word_.compare_exchange_weak(seen, mine, seq_cst, seq_cst)) return mine; // [ARM-1]
        }
        return state_of(seen) == answered ? none : seen;
    }
    /// Any thread, after it has made something pending: whether `arm()` would return `none`.
    [[nodiscard]] bool is_answered() const noexcept {
        return state_of(word_.load(seq_cst)) == answered; // [ARM-1], [ARM-3]
    }
    /// The thread that armed the flag has woken all threads that this arming is for.
    void answer(ticket t) noexcept {
        // [ARM-1] If `t` is older than the current arming, this does not answer the current one.
        word_.compare_exchange_strong(t, t - armed + answered, seq_cst, relaxed);
    }
    /// The watching thread calls this when it is awake.
    void answer() noexcept {
        if (const ticket seen = word_.load(relaxed); state_of(seen) == armed) answer(seen);
    }
    /// The watching thread calls this before its last check of what is pending.
    void disarm() noexcept {
        if (state_of(word_.load(seq_cst)) != disarmed) word_.fetch_and(~state_mask, seq_cst); // [ARM-2], [ARM-3]
    }
    /// The watching thread calls this if it has found something in that check, and stays awake.
    void stay_armed() noexcept {
        if (arm() != none) answer();
    }

    [[nodiscard]] bool is_armed() const noexcept { return state_of(word_.load(seq_cst)) != disarmed; } // [PARK-3]

private:
    // The state is in the two lowest bits; the bits above count the armings.
    static constexpr ticket disarmed = 0, armed = 1, answered = 2, state_mask = 3, one_arming = 4;
    static constexpr ticket state_of(ticket t) noexcept { return t & state_mask; }

    atomic<ticket> word_{disarmed};
};

}}} // namespace cmwq::CMWQ_NS::detail
