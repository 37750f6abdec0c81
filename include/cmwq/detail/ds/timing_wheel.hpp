// SPDX-License-Identifier: BSL-1.0
//
// timing_wheel: timers by deadline. Those that are due soon are in a heap, all others in the slots of a hierarchical
// wheel, where arming and removing a timer take constant time, however many there are.
#pragma once

#include <cmwq/detail/ds/deadline_heap.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Not thread safe. T derives from deadline_node. Never allocates. Times are nanoseconds.
///
/// The exact order is that of the heap: slots have no order. A tick is 2^25 ns, about 34 ms. Level n has 64 slots, each
/// 64^n ticks wide; they cover the 64 slots of that width behind the one that contains the tick `base_`. A timer is in
/// the lowest level that covers its tick. So a timer moves down at most once for each level, and most timers are
/// removed before they move.
///
/// turn() moves the timers of a slot, a few at a time, and begins before they are due, so that a slot may have a
/// million timers, and those that are due now need not wait for the move: a slot of level 0 moves to the heap `ahead`
/// ticks before it begins; one of level n moves to lower levels in the last slot of level n - 1 before that.
///
/// The invariants: the ticks of all timers in slots are greater than `base_`; no slot that is not empty contains the
/// tick `base_`. Timers of any deadline may be in the heap. `Few`: that many timers are in the heap in any case, which
/// saves the extra wake-ups for the slots.
template <class T, std::size_t Few = 64>
class timing_wheel {
public:
    static constexpr std::int64_t never = INT64_MAX;
    static constexpr std::int64_t tick = std::int64_t{1} << 25;
    static constexpr unsigned ahead = 4;
    static constexpr int turn_size = 64; ///< how many timers one call of turn() moves

    timing_wheel() noexcept = default;
    timing_wheel(const timing_wheel&) = delete;
    timing_wheel& operator=(const timing_wheel&) = delete;

    /// Adds a timer, whose deadline is set. Timers with equal deadlines become due in the order of these calls. Returns
    /// when the wheel has to be looked at because of this timer: see `next_visit()`.
    std::int64_t push(T& t, std::int64_t now) noexcept {
        t.sequence = next_sequence_++;
        const std::uint64_t soon = tick_of(now) + ahead, when = tick_of(t.deadline);
        advance(soon);
        if (nr_in_heap_ < Few || when <= soon || when <= base_) {
            push_to_heap(t);
            return t.deadline;
        }
        return visit_of(put_in_slot(t, when));
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
        return t.deadline <= now && tick_of(t.deadline) < first_tick_ ? &t : nullptr;
    }

    /// Moves some timers of slots whose time for that has come. False: there are none.
    bool turn(std::int64_t now) noexcept {
        const std::uint64_t soon = tick_of(now) + ahead;
        for (int i = 0; i < turn_size; ++i) {
            advance(soon);
            const unsigned slot = slot_to_move(soon);
            if (slot == none) return i != 0;
            T& t = *static_cast<T*>(slots_[slot]);
            take_out_of_slot(t);
            if (slot < slots_of_level) push_to_heap(t);
            else put_in_slot(t, tick_of(t.deadline));
        }
        return true;
    }

    /// When turn() or due() next has an effect, if nothing is pushed meanwhile. It may be earlier than that; never: the
    /// wheel is empty.
    [[nodiscard]] std::int64_t next_visit() const noexcept {
        std::int64_t next = next_due();
        for (unsigned level = 0; level < levels; ++level) {
            if (filled_[level] != 0) next = std::min(next, visit_of(first_of(level)));
        }
        return next;
    }
    /// No timer is due before that time, if nothing is pushed meanwhile. Not before next_visit(): the slots begin to
    /// move before their timers are due.
    [[nodiscard]] std::int64_t next_due() const noexcept {
        const std::int64_t in_slots = first_tick_ == no_tick ? never : start(first_tick_);
        return heap_.empty() ? in_slots : std::min(in_slots, heap_.front().deadline);
    }

private:
    static constexpr unsigned digit = 6, levels = 7, slots_of_level = 1u << digit; // 25 + 7 * 6 bits: any deadline
    static constexpr unsigned nr_slots = levels * slots_of_level, in_heap = nr_slots, none = nr_slots;
    static constexpr std::uint64_t sign = std::uint64_t{1} << 63, no_tick = UINT64_MAX;

    // Ticks are not negative and have the order of the times.
    static std::uint64_t tick_of(std::int64_t t) noexcept {
        return (static_cast<std::uint64_t>(t) ^ sign) / static_cast<std::uint64_t>(tick);
    }
    static std::int64_t start(std::uint64_t n) noexcept {
        return static_cast<std::int64_t>((n * static_cast<std::uint64_t>(tick)) ^ sign);
    }

    void push_to_heap(T& t) noexcept {
        t.slot = in_heap;
        heap_.push(t);
        ++nr_in_heap_;
    }

    // `when`: the tick of the timer, greater than `base_`. Returns the slot.
    unsigned put_in_slot(T& t, std::uint64_t when) noexcept {
        unsigned level = 0;
        while ((when >> level * digit) - (base_ >> level * digit) > slots_of_level) ++level;
        const unsigned i = static_cast<unsigned>(when >> level * digit) % slots_of_level;
        deadline_node& n = t;
        n.slot = level * slots_of_level + i;
        deadline_node*& first = slots_[n.slot];
        n.up = nullptr;
        n.right = first;
        if (first != nullptr) first->up = &n;
        first = &n;
        filled_[level] |= std::uint64_t{1} << i;
        first_tick_ = std::min(first_tick_, start_of(n.slot));
        return n.slot;
    }

    void take_out_of_slot(deadline_node& n) noexcept {
        deadline_node*& first = slots_[n.slot];
        if (n.up != nullptr) n.up->right = n.right;
        else first = n.right;
        if (n.right != nullptr) n.right->up = n.up;
        if (first != nullptr) return;
        const std::uint64_t gone = start_of(n.slot);
        filled_[n.slot / slots_of_level] &= ~(std::uint64_t{1} << (n.slot % slots_of_level));
        if (gone != first_tick_) return;
        first_tick_ = no_tick;
        for (unsigned level = 0; level < levels; ++level) {
            if (filled_[level] != 0) first_tick_ = std::min(first_tick_, start_of(first_of(level)));
        }
    }

    // Moves `base_` towards that tick, as far as the slots that are not empty let it.
    void advance(std::uint64_t to) noexcept {
        if (base_ < to) base_ = std::max(base_, std::min(to, first_tick_ - 1));
    }

    // The first slot of a level that is not empty, in the order of time.
    [[nodiscard]] unsigned first_of(unsigned level) const noexcept {
        const auto next = static_cast<unsigned>((base_ >> level * digit) + 1) % slots_of_level;
        const auto distance =
            static_cast<unsigned>(std::countr_zero(std::rotr(filled_[level], static_cast<int>(next))));
        return level * slots_of_level + (next + distance) % slots_of_level;
    }
    // The first tick of a slot.
    [[nodiscard]] std::uint64_t start_of(unsigned slot) const noexcept {
        const unsigned shift = slot / slots_of_level * digit;
        const std::uint64_t next = (base_ >> shift) + 1;
        return (next + (slot - next) % slots_of_level) << shift;
    }
    // The tick `soon` at which the timers of a slot may begin to move: the lower levels cover all of them then.
    [[nodiscard]] std::uint64_t early(unsigned slot) const noexcept {
        const unsigned level = slot / slots_of_level;
        return start_of(slot) - (level == 0 ? 0 : std::uint64_t{1} << (level - 1) * digit);
    }
    [[nodiscard]] std::int64_t visit_of(unsigned slot) const noexcept {
        const std::uint64_t at = early(slot);
        return start(at < ahead ? 0 : at - ahead);
    }

    // Higher levels first: a slot of level 0 may begin with them, and then its timers are not complete before. `base_`
    // is as large as it can be.
    [[nodiscard]] unsigned slot_to_move(std::uint64_t soon) const noexcept {
        unsigned found = none;
        for (unsigned level = levels; level-- > 0;) {
            if (filled_[level] == 0) continue;
            const unsigned slot = first_of(level);
            // The slot that begins first keeps `base_` back, and so all others.
            if (start_of(slot) == first_tick_ && first_tick_ <= soon) return slot;
            if (found == none && first_tick_ > soon && early(slot) <= soon) found = slot;
        }
        return found;
    }

    deadline_heap<T> heap_;
    std::size_t nr_in_heap_ = 0;
    std::uint64_t next_sequence_ = 0;
    std::uint64_t base_ = 0;             // a tick
    std::uint64_t first_tick_ = no_tick; // the first tick of all slots that are not empty
    std::uint64_t filled_[levels] = {};  // a bit for each slot that is not empty
    deadline_node* slots_[nr_slots] = {};
};

}}} // namespace cmwq::CMWQ_NS::detail
