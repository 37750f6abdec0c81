// SPDX-License-Identifier: BSL-1.0
//
// timing_wheel: timers by deadline. Those that are due soon are in a heap, all others in the slots of a hierarchical
// wheel, where arming and removing a timer take constant time, however many there are.
#pragma once

#include <cmwq/detail/ds/deadline_heap.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Not thread safe. T derives from deadline_node. Never allocates. Times are nanoseconds.
///
/// The exact order is that of the heap: slots have no order. A tick is 2^25 ns, about 34 ms. A slot of level n is 64^n
/// ticks wide. The level of a timer is the highest digit, to the base 64, in which the tick of its deadline differs
/// from `base_`. So all timers of a level come before those of the next one. When a slot is about to begin, turn()
/// moves its timers to the heap or to lower levels, a few at a time, and one tick ahead: the timers of the slot are due
/// later, so those that are due now need not wait for the move. A timer moves at most once for each level; most timers
/// are removed before they move.
///
/// The invariant: the tick of each timer in a slot is greater than `base_`, or the slot is `moving_`. Timers of any
/// deadline may be in the heap. `Few`: that many timers are in the heap in any case, which saves the extra wake-ups for
/// the slots.
template <class T, std::size_t Few = 64>
class timing_wheel {
public:
    static constexpr std::int64_t never = INT64_MAX;
    static constexpr std::int64_t tick = std::int64_t{1} << 25;
    static constexpr int turn_size = 64; ///< how many timers one call of turn() moves

    timing_wheel() noexcept = default;
    timing_wheel(const timing_wheel&) = delete;
    timing_wheel& operator=(const timing_wheel&) = delete;

    /// Adds a timer, whose deadline is set. Timers with equal deadlines become due in the order of these calls. Returns
    /// when the wheel has to be looked at because of this timer: see `next_look()`.
    std::int64_t push(T& t, std::int64_t now) noexcept {
        t.sequence = next_sequence_++;
        const std::uint64_t soon = tick_of(now) + 1, when = tick_of(t.deadline);
        if (nr_in_slots_ == 0) base_ = soon;
        if (nr_in_heap_ < Few || when <= soon || when <= base_) {
            push_to_heap(t);
            return t.deadline;
        }
        return before(start_of(put_in_slot(t, when)));
    }

    void remove(T& t) noexcept {
        if (t.slot == in_heap) {
            heap_.remove(t);
            --nr_in_heap_;
        } else {
            take_out_of_slot(t);
        }
    }

    /// The first timer if it is due, and no timer in the slots may come before it; null: there is none.
    [[nodiscard]] T* due(std::int64_t now) const noexcept {
        if (heap_.empty()) return nullptr;
        T& t = heap_.front();
        return t.deadline <= now && tick_of(t.deadline) < first_tick_in_slots() ? &t : nullptr;
    }

    /// Moves some timers of a slot that is about to begin. True: there may be more to move.
    bool turn(std::int64_t now) noexcept {
        if (nr_in_slots_ == 0) return false;
        if (moving_ == none) {
            const std::uint64_t start = first_tick_in_slots();
            if (start > tick_of(now) + 1) return false;
            moving_ = first_slot();
            base_ = start;
        }
        for (int i = 0; i < turn_size && moving_ != none; ++i) {
            T& t = *static_cast<T*>(slots_[moving_]);
            take_out_of_slot(t);
            if (const std::uint64_t when = tick_of(t.deadline); when <= base_) push_to_heap(t);
            else put_in_slot(t, when);
        }
        return true;
    }

    /// When turn() or due() next has an effect, if nothing is pushed meanwhile. It may be earlier than that; never: the
    /// wheel is empty.
    [[nodiscard]] std::int64_t next_look() const noexcept {
        return earlier_than_heap(nr_in_slots_ == 0 ? never : before(first_tick_in_slots()));
    }
    /// No timer is due before that time, if nothing is pushed meanwhile. Not before next_look(): the slots begin to move
    /// before their timers are due.
    [[nodiscard]] std::int64_t next_due() const noexcept {
        return earlier_than_heap(nr_in_slots_ == 0 ? never : start(first_tick_in_slots()));
    }

private:
    static constexpr unsigned digit = 6, levels = 7, slots_of_level = 1u << digit; // 25 + 7 * 6 bits: any deadline
    static constexpr unsigned nr_slots = levels * slots_of_level, in_heap = nr_slots, none = nr_slots;
    static constexpr std::uint64_t sign = std::uint64_t{1} << 63;

    // Ticks are not negative and have the order of the times.
    static std::uint64_t tick_of(std::int64_t t) noexcept {
        return (static_cast<std::uint64_t>(t) ^ sign) / static_cast<std::uint64_t>(tick);
    }
    // The time at which the slot that begins with tick `n` may be moved.
    static std::int64_t before(std::uint64_t n) noexcept { return start(n - 1); }
    static std::int64_t start(std::uint64_t n) noexcept {
        return static_cast<std::int64_t>((n * static_cast<std::uint64_t>(tick)) ^ sign);
    }
    [[nodiscard]] std::int64_t earlier_than_heap(std::int64_t time) const noexcept {
        return heap_.empty() || time < heap_.front().deadline ? time : heap_.front().deadline;
    }

    void push_to_heap(T& t) noexcept {
        t.slot = in_heap;
        heap_.push(t);
        ++nr_in_heap_;
    }

    // `when`: the tick of the timer, greater than `base_`. Returns the slot.
    unsigned put_in_slot(T& t, std::uint64_t when) noexcept {
        const unsigned level = (static_cast<unsigned>(std::bit_width(when ^ base_)) - 1) / digit;
        const unsigned i = static_cast<unsigned>(when >> (level * digit)) % slots_of_level;
        deadline_node& n = t;
        n.slot = level * slots_of_level + i;
        deadline_node*& first = slots_[n.slot];
        n.back = nullptr;
        n.sibling = first;
        if (first != nullptr) first->back = &n;
        first = &n;
        filled_[level] |= std::uint64_t{1} << i;
        ++nr_in_slots_;
        return n.slot;
    }

    void take_out_of_slot(deadline_node& n) noexcept {
        deadline_node*& first = slots_[n.slot];
        if (n.back != nullptr) n.back->sibling = n.sibling;
        else first = n.sibling;
        if (n.sibling != nullptr) n.sibling->back = n.back;
        --nr_in_slots_;
        if (first != nullptr) return;
        filled_[n.slot / slots_of_level] &= ~(std::uint64_t{1} << (n.slot % slots_of_level));
        if (n.slot == moving_) moving_ = none;
    }

    // The first tick of a slot that is not `moving_`.
    [[nodiscard]] std::uint64_t start_of(unsigned slot) const noexcept {
        const unsigned shift = slot / slots_of_level * digit;
        return (base_ >> (shift + digit) << (shift + digit)) | (std::uint64_t{slot % slots_of_level} << shift);
    }
    [[nodiscard]] unsigned first_slot() const noexcept {
        unsigned level = 0;
        while (filled_[level] == 0) ++level;
        return level * slots_of_level + static_cast<unsigned>(std::countr_zero(filled_[level]));
    }
    // No timer in the slots has an earlier tick.
    [[nodiscard]] std::uint64_t first_tick_in_slots() const noexcept {
        return nr_in_slots_ == 0 ? UINT64_MAX : moving_ != none ? base_ : start_of(first_slot());
    }

    deadline_heap<T> heap_;
    std::size_t nr_in_heap_ = 0, nr_in_slots_ = 0;
    std::uint64_t next_sequence_ = 0;
    std::uint64_t base_ = 0;            // a tick
    unsigned moving_ = none;            // the slot whose timers turn() moves; `base_` is its first tick
    std::uint64_t filled_[levels] = {}; // a bit for each slot that is not empty
    deadline_node* slots_[nr_slots] = {};
};

}}} // namespace cmwq::CMWQ_NS::detail
