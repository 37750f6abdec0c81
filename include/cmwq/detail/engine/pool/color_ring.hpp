// SPDX-License-Identifier: BSL-1.0
//
// color_ring: tells a flush when the items that were queued before it have left.
#pragma once

#include <cmwq/detail/engine/item/deferred.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class item_pool;
class pool_workqueue;

/// A flush that waits for one pwq. Lives on the flusher's stack. Letters: I set before it is registered · L pool lock
struct color_waiter {
    waiter* who = nullptr;         // I
    pool_workqueue* pwq = nullptr; // I: there as long as `waits` says so
    item_pool* pool = nullptr;     // I: its pool
    unsigned color = 0;            // L
    bool waits = false;            // L: registered, and what it waits for has not happened
    color_waiter* next = nullptr;  // L
};

/// Counts items by color, so that a flush can tell what was queued before it from what came later.
///
/// Items get the color that is open at the time; a flush closes it and waits until that color and all older ones
/// count zero. Colors are a ring of 16; the closed ones are oldest … open - 1. When all others are in use, flushers
/// share the next close: they wait for a little more than they must, never for less.
class color_ring {
public:
    static constexpr unsigned nr_colors = 16;

    unsigned enter() noexcept {
        ++count_[open_];
        ++nr_entered_;
        return open_;
    }

    void leave(unsigned color, deferred& d) noexcept {
        CMWQ_ASSERT(count_[color] > 0);
        ++nr_left_;
        if (--count_[color] == 0 && color == oldest_ && color != open_) retire(d);
    }

    /// Registers `w` to be told when everything that has entered has left. False: nothing is under way.
    bool close(color_waiter& w) noexcept {
        if (nr_entered_ == nr_left_) return false;
        w.who->expect();
        w.next = nullptr;
        w.waits = true;
        if (count_[open_] == 0) { // nothing since the last close: wait for that one
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

    /// A number instead of a color that counts items or is waited for: it stays the same, and grows with each close.
    /// A waiter waits for items of the same number, or of a smaller one.
    [[nodiscard]] std::uint64_t generation_of(unsigned color) const noexcept {
        return color == undecided ? generation_ : generation_ - age(color); // it will share the next close
    }
    [[nodiscard]] std::uint64_t generation_of(const color_waiter& w) const noexcept { return generation_of(w.color); }
    /// Whether `w`, which waits, waits for items of that color, of which there are some.
    [[nodiscard]] bool covers(const color_waiter& w, unsigned color) const noexcept {
        return generation_of(color) <= generation_of(w);
    }

    /// `w`, which waits, does not wait any more.
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

    static constexpr unsigned undecided = nr_colors; // of those who wait for a color to be free

    static unsigned next(unsigned c) noexcept { return (c + 1) % nr_colors; }
    // How many closes ago the color was the open one.
    [[nodiscard]] unsigned age(unsigned c) const noexcept { return (open_ + nr_colors - c) % nr_colors; }

    void open_next() noexcept {
        open_ = next(open_);
        ++generation_;
    }

    static void append(queue& q, color_waiter& w) noexcept {
        (q.last == nullptr ? q.first : q.last->next) = &w;
        q.last = &w;
    }

    // The oldest color is empty: tell everybody who waits for it, and for those behind it that are empty too.
    void retire(deferred& d) noexcept {
        while (oldest_ != open_ && count_[oldest_] == 0) {
            while (closed_.first != nullptr && closed_.first->color == oldest_) {
                color_waiter* w = closed_.first;
                closed_.first = w->next; // the node is gone once its owner knows
                if (closed_.first == nullptr) closed_.last = nullptr;
                w->waits = false;
                d.happened(*w->who);
            }
            oldest_ = next(oldest_);
            if (overflow_.first != nullptr) share_close();
        }
    }

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

    std::uint64_t nr_entered_ = 0;
    std::uint64_t nr_left_ = 0;
    std::uint64_t count_[nr_colors] = {};
    unsigned open_ = 0;
    unsigned oldest_ = 0;
    queue closed_;
    queue overflow_;
    std::uint64_t generation_ = nr_colors; // of the open color
};

} // namespace cmwq::inline CMWQ_NS::detail
