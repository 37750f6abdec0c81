// SPDX-License-Identifier: BSL-1.0
//
// arming: a flag that keeps a watching thread awake. Setting it costs one load while the thread is awake.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// Any thread arms it when it has made something pending, and then wakes the thread that watches. That thread says so
/// when it is awake, and disarms before it sleeps.
///
/// A thread may be stopped for seconds between arming and waking. So a caller that finds the flag armed, but not
/// answered yet, wakes the watching thread as well.
class arming {
public:
    arming() noexcept = default;
    arming(const arming&) = delete;
    arming& operator=(const arming&) = delete;

    /// Any thread. True: the caller has to wake the watching thread, as soon as it can.
    [[nodiscard]] bool arm() noexcept {
        // [ARM-1] Something was made pending, then the look at the flag; pairs [ARM-2], where the watching thread takes
        // the flag back and then looks at what is pending. All seq_cst: one of the two sees the other.
        state seen = state_.load(seq_cst);
        if (seen == state::disarmed && state_.compare_exchange_strong(seen, state::armed, seq_cst, seq_cst))
            return true;
        return seen != state::answered;
    }
    /// The watching thread is awake, or all that there is to wake has been woken.
    void answer() noexcept {
        state seen = state::armed;
        if (state_.load(relaxed) == seen) state_.compare_exchange_strong(seen, state::answered, seq_cst, relaxed);
    }
    /// The watching thread, before its last look at what is pending.
    void disarm() noexcept {
        if (state_.load(seq_cst) != state::disarmed) state_.store(state::disarmed, seq_cst); // [ARM-2]
    }
    /// The watching thread has found something in that look, and stays awake.
    void stay_armed() noexcept { state_.store(state::answered, seq_cst); }

    [[nodiscard]] bool is_armed() const noexcept { return state_.load(seq_cst) != state::disarmed; } // [PARK-3]

private:
    enum class state : unsigned char { disarmed, armed, answered };
    atomic<state> state_{state::disarmed};
};

} // namespace cmwq::inline CMWQ_NS::detail
