// SPDX-License-Identifier: BSL-1.0
//
// node_slots: limits how many items of a queue are active on one NUMA node, or on the machine, and keeps the pwqs that
// wait for a slot.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/sync/mutex.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class pool_owner;
class pool_workqueue;
struct slot_tag;

/// A queue has one of these for each NUMA node, and one for the whole machine; queue_limits::share_out_locked() decides
/// which of them are in use. A pwq that needs a slot and gets none is appended to a list. A slot that becomes free is
/// granted to the pwq that has waited longest: that pwq is pushed to the grant inbox of its pool, which the next thread
/// that takes the pool lock drains. So no thread ever needs two pool locks, and pwqs get slots in turn.
///
/// Any thread may call every member. The caller holds the pool lock of the pwq concerned, or no lock; no lock is taken
/// under the lock of this class.
/// Letters: N lock_ · A atomic
class node_slots {
public:
    node_slots() noexcept = default;
    node_slots(const node_slots&) = delete;
    node_slots& operator=(const node_slots&) = delete;

    struct taken {
        bool yes;                         ///< False: the pwq waits for a slot.
        pool_owner* granted_to = nullptr; ///< If not null, a slot was granted to another pwq; as give_back().
    };
    /// Takes a slot for `p`, to which none has been granted.
    [[nodiscard]] taken take(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_) {
        // No comparison and exchange: if the pools of many CPUs take a slot at the same time, most of them would fail,
        // and each would fetch the cache line again. So the count may be too high for a moment. wait() takes that back.
        const bool may_be_free = nr_waiting_.load(seq_cst) == 0 && nr_.load(seq_cst) < max_.load(seq_cst); // [HINT]
        if (may_be_free && nr_.fetch_add(1, seq_cst) < max_.load(seq_cst)) return {true};                  // [LOCK]
        return wait(p, may_be_free ? 1 : 0);
    }
    /// Takes a slot even if none is free.
    void take_beyond_max() noexcept { nr_.fetch_add(1, seq_cst); } // [UNIFORM]
    /// `n` items that have slots here have slots of `to` instead, even if none is free.
    void move_to(node_slots& to, unsigned n) noexcept {
        to.nr_.fetch_add(n, seq_cst); // [UNIFORM]
        nr_.fetch_sub(n, seq_cst);    // [UNIFORM] the maximum is 0, so no pwq waits for these
    }
    /// Whether a pwq that holds a slot, and waits for more, may keep it: no other pwq waits, and no more slots are in
    /// use than the limit admits. A hint: if it is out of date, the pwq keeps one slot once more.
    [[nodiscard]] bool has_no_other_waiter() const noexcept {
        return nr_waiting_.load(relaxed) <= 1 && nr_.load(relaxed) <= max_.load(relaxed);
    }
    /// Gives a slot back. If a slot was granted to another pwq, returns the pool of that pwq, and the caller must
    /// notify it as after a push.
    [[nodiscard]] pool_owner* give_back() noexcept CMWQ_EXCLUDES(lock_) {
        // [NODE-1] This thread counts down, then it reads the number of waiting pwqs; pairs [NODE-2], where a pwq is
        // noted as waiting, and then the thread reads the count. All are seq_cst: either this thread sees the waiting
        // pwq, or the other thread sees the free slot.
        nr_.fetch_sub(1, seq_cst);                                 // [NODE-3], too
        return nr_waiting_.load(seq_cst) == 0 ? nullptr : grant(); // [NODE-1]
    }
    /// From now on is_down() looks whether no more than `n` slots are in use. 0: never.
    void set_mark(unsigned n) noexcept { down_at_.store(n, seq_cst); } // [NODE-4]
    /// Whether no more slots are in use than that. Returns true once. Called after give_back() and after set_mark().
    [[nodiscard]] bool is_down() noexcept {
        // [NODE-3] One thread counts down, then it reads the mark; pairs [NODE-4], where a thread sets the mark, and
        // then reads the count. All are seq_cst, so at least one of the two sees the other's write.
        const unsigned n = down_at_.load(seq_cst);                                     // [NODE-3]
        return n != 0 && nr_.load(seq_cst) <= n && down_at_.exchange(0, seq_cst) != 0; // [NODE-4]
    }
    /// Grants a free slot to a waiting pwq, if there are both; returns as give_back(). After the limit has been raised,
    /// call it until it returns null.
    [[nodiscard]] pool_owner* grant() noexcept CMWQ_EXCLUDES(lock_);
    /// `p` was taken from the inbox of grants: it may wait again.
    void grant_received(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_);
    /// `p` no longer needs a slot: stops its waiting.
    void forget(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_);

    void set_max(unsigned n) noexcept { max_.store(n, seq_cst); } // [LOCK]
    [[nodiscard]] unsigned max() const noexcept { return max_.load(relaxed); }
    [[nodiscard]] unsigned in_use() const noexcept { return nr_.load(relaxed); }

private:
    [[nodiscard]] taken wait(pool_workqueue& p, unsigned nr_too_many) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] pool_workqueue* first_served_locked() noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] static pool_owner* hand_over_locked(pool_workqueue* p) noexcept;
    [[nodiscard]] bool try_take_locked() noexcept CMWQ_REQUIRES(lock_) {
        unsigned n = nr_.load(seq_cst);                                             // [NODE-2]
        while (n < max_.load(seq_cst)) {                                            // [LOCK]
            if (nr_.compare_exchange_weak(n, n + 1, seq_cst, seq_cst)) return true; // [NODE-2]
        }
        return false;
    }

    alignas(cache_line) atomic<unsigned> nr_{0}; // A
    atomic<unsigned> max_{0};                    // A
    atomic<unsigned> nr_waiting_{0};             // A: written under N
    atomic<unsigned> down_at_{0};                // A
    ranked_mutex<lock_rank::slots> lock_;
    intrusive_list<pool_workqueue, slot_tag> waiting_ CMWQ_GUARDED_BY(lock_); // N
};

}}} // namespace cmwq::CMWQ_NS::detail
