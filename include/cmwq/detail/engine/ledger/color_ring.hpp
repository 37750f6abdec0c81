// SPDX-License-Identifier: BSL-1.0
//
// color_ring: wakes a flush when the items that were queued before it have left.
#pragma once

#include <cmwq/detail/engine/item/deferred.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
class pool_workqueue;

/// A flush that waits for one pwq. It is on the stack of the flushing thread.
/// Letters: I set before it is registered · L pool lock
struct color_waiter {
    waiter* who = nullptr;         // I
    pool_workqueue* pwq = nullptr; // I: exists while `waits` is true
    item_pool* pool = nullptr;     // I: the pool of `pwq`
    unsigned color = 0;            // L
    bool waits = false;            // L: registered, and the items have not left yet
    color_waiter* next = nullptr;  // L
};

/// Counts items by color, so that a flush can distinguish items queued before it from items queued later. Not
/// thread-safe: the lock of the pool guards it.
///
/// Items get the color that is open at the time. A flush closes the open color and waits until that color and all older
/// ones count zero. Colors are a ring of 16; the closed ones are oldest … open - 1. If no color is free for the next
/// close, flushers wait for one and share that close: they may wait for more items than necessary, never for fewer.
class color_ring {
public:
    static constexpr unsigned nr_colors = 16;

    /// An item is accepted. Returns its color.
    unsigned enter() noexcept {
        ++count_[open_];
        ++nr_entered_;
        return open_;
    }

    /// An item has run or was cancelled. `d` wakes the flushes that this ends.
    void leave(unsigned color, deferred& d) noexcept {
        CMWQ_ASSERT(count_[color] > 0);
        ++nr_left_;
        if (--count_[color] == 0 && color == oldest_ && color != open_) retire(d);
    }

    /// Registers `w`, to be woken when all items that have entered so far have left. False: they have left already.
    bool close(color_waiter& w) noexcept {
        if (nr_entered_ == nr_left_) return false;
        w.who->expect();
        w.next = nullptr;
        w.waits = true;
        if (count_[open_] == 0) { // no item since the last close: wait for that color
            w.color = (open_ + nr_colors - 1) % nr_colors;
            append(closed_, w);
        } else if (next(open_) != oldest_) {
            w.color = open_;
            append(closed_, w);
            open_next();
        } else {
            w.color = undecided;
            append(overflow_, w);
        }
        return true;
    }

    /// A number for a color that counts items or is waited for. Unlike the color it is not reused, and it grows with
    /// each close. A waiter waits for items of the same or a smaller number.
    [[nodiscard]] std::uint64_t generation_of(unsigned color) const noexcept {
        return color == undecided ? generation_ : generation_ - age(color); // such a waiter will share the next close
    }
    [[nodiscard]] std::uint64_t generation_of(const color_waiter& w) const noexcept { return generation_of(w.color); }
    /// Whether the flush `w`, which waits, covers the items of that color. The color counts at least one item.
    [[nodiscard]] bool covers(const color_waiter& w, unsigned color) const noexcept {
        return generation_of(color) <= generation_of(w);
    }

    /// Removes `w`, which waits.
    void forget(color_waiter& w) noexcept {
        queue& q = w.color == undecided ? overflow_ : closed_;
        color_waiter* before = nullptr;
        for (color_waiter* c = q.first; c != &w; c = c->next) before = c;
        (before == nullptr ? q.first : before->next) = w.next;
        if (q.last == &w) q.last = before;
        w.waits = false;
    }

    [[nodiscard]] std::uint64_t nr_entered() const noexcept { return nr_entered_; }
    [[nodiscard]] std::uint64_t nr_left() const noexcept { return nr_left_; }

private:
    struct queue {
        color_waiter* first = nullptr;
        color_waiter* last = nullptr;
    };

    static constexpr unsigned undecided = nr_colors; // of waiters for which no color is free yet

    static unsigned next(unsigned c) noexcept { return (c + 1) % nr_colors; }
    // The number of closes since the color was open.
    [[nodiscard]] unsigned age(unsigned c) const noexcept { return (open_ + nr_colors - c) % nr_colors; }

    void open_next() noexcept {
        open_ = next(open_);
        ++generation_;
    }

    static void append(queue& q, color_waiter& w) noexcept {
        (q.last == nullptr ? q.first : q.last->next) = &w;
        q.last = &w;
    }

    // The oldest color counts zero: wakes its waiters, and those of the next colors that count zero as well.
    void retire(deferred& d) noexcept {
        while (oldest_ != open_ && count_[oldest_] == 0) {
            while (closed_.first != nullptr && closed_.first->color == oldest_) {
                color_waiter* w = closed_.first;
                closed_.first = w->next; // the waiter may be destroyed once it is woken
                if (closed_.first == nullptr) closed_.last = nullptr;
                w->waits = false;
                d.happened(*w->who);
            }
            oldest_ = next(oldest_);
            if (overflow_.first != nullptr) share_close();
        }
    }

    // A color is free again: all waiters in overflow_ share one close.
    void share_close() noexcept {
        for (color_waiter* w = overflow_.first; w != nullptr; w = w->next) w->color = open_;
        if (closed_.last == nullptr) closed_ = overflow_;
        else {
            closed_.last->next = overflow_.first;
            closed_.last = overflow_.last;
        }
        overflow_ = {};
        open_next();
    }

    // The first four are used for each item: they share a cache line with the members of the pwq before them.
    unsigned open_ = 0;
    unsigned oldest_ = 0;
    std::uint64_t nr_entered_ = 0;
    std::uint64_t nr_left_ = 0;
    std::uint64_t count_[nr_colors] = {};
    queue closed_;
    queue overflow_;
    std::uint64_t generation_ = nr_colors; // of the open color
};

}}} // namespace cmwq::CMWQ_NS::detail
