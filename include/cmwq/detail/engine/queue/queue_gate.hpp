// SPDX-License-Identifier: BSL-1.0
//
// queue_gate: whether a queue accepts items.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member.
class queue_gate {
public:
    [[nodiscard]] bool is_open() const noexcept { return state_.load(acquire) == 0; } // [OPEN]
    /// This is a forked child, and the queue belongs to the parent.
    [[nodiscard]] bool is_dead() const noexcept { return (state_.load(acquire) & dead) != 0; } // [OPEN]
    /// It accepts no item any more, not even from its own items.
    [[nodiscard]] bool is_shut() const noexcept { return (state_.load(acquire) & shut) != 0; } // [OPEN]
    /// Its destructor has begun, or it is dead.
    [[nodiscard]] bool is_dying() const noexcept { return (state_.load(acquire) & (dying | dead)) != 0; } // [OPEN]
    /// It accepts only items that its own items queue.
    [[nodiscard]] bool is_draining() const noexcept { return state_.load(acquire) >= one_drain; } // [OPEN]

    void mark_dead() noexcept { state_.fetch_or(dead, acq_rel); }   // [OPEN]
    void mark_shut() noexcept { state_.fetch_or(shut, acq_rel); }   // [OPEN]
    void mark_dying() noexcept { state_.fetch_or(dying, acq_rel); } // [OPEN]
    /// Drains nest: the last end_drain() opens the queue again. The destructor and shutdown() never end their drain.
    void begin_drain() noexcept { state_.fetch_add(one_drain, seq_cst); } // [OPEN]
    void end_drain() noexcept { state_.fetch_sub(one_drain, seq_cst); }   // [OPEN]

private:
    static constexpr std::uint32_t dead = 1, dying = 2, shut = 4, one_drain = 8;

    atomic<std::uint32_t> state_{0}; // A: a bit for each of these, and the number of drains above them
};

}}} // namespace cmwq::CMWQ_NS::detail
