// SPDX-License-Identifier: BSL-1.0
//
// node_slots: how many items of a queue may be active in the pools of one NUMA node, and who waits for a slot.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/sync/mutex.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class pool_workqueue;
class item_pool;
struct slot_tag;

/// A queue has one of these for each NUMA node, and one for the pools that span nodes. A pwq that needs a slot and gets
/// none is appended to a list; a slot that comes free goes to the one that has waited longest, which lies in the inbox
/// of grants of its pool until a worker looks there. So nobody ever needs two pool locks, and pwqs get slots by turns.
///
/// Whoever calls holds the pool lock of the pwq concerned, or none; the lock here is the innermost.
/// Letters: N lock_ · A atomic
class node_slots {
public:
    node_slots() noexcept = default;
    node_slots(const node_slots&) = delete;
    node_slots& operator=(const node_slots&) = delete;

    /// A slot for `p`, which nobody has granted one yet. False: it waits for one.
    [[nodiscard]] bool take(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_);
    /// Returns a slot. It may have gone to another pwq: then its pool is to be told, as after a push.
    [[nodiscard]] item_pool* give_back() noexcept CMWQ_EXCLUDES(lock_) {
        // [NODE-1] counted down, then the look at who waits; pairs [NODE-2], noted as waiting, then the look at the
        // count. All seq_cst: the slot is seen by the one, or the waiter by the other.
        nr_.fetch_sub(1, seq_cst);
        return nr_waiting_.load(seq_cst) == 0 ? nullptr : grant(); // [NODE-1]
    }
    /// If a slot is free and somebody waits: as above. Call until it returns null after the limit has risen.
    [[nodiscard]] item_pool* grant() noexcept CMWQ_EXCLUDES(lock_);
    /// `p` was taken out of the inbox of grants: it may wait again.
    void grant_received(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_);
    /// `p` has nothing inactive any more: it does not wait.
    void forget(pool_workqueue& p) noexcept CMWQ_EXCLUDES(lock_);

    void set_max(unsigned n) noexcept { max_.store(n, seq_cst); } // [LOCK]
    [[nodiscard]] unsigned max() const noexcept { return max_.load(relaxed); }
    [[nodiscard]] unsigned in_use() const noexcept { return nr_.load(relaxed); }

private:
    bool try_take() noexcept {
        unsigned n = nr_.load(seq_cst);                                             // [NODE-2]
        while (n < max_.load(seq_cst)) {                                            // [LOCK]
            if (nr_.compare_exchange_weak(n, n + 1, seq_cst, seq_cst)) return true; // [NODE-2]
        }
        return false;
    }

    alignas(cache_line) atomic<unsigned> nr_{0}; // A
    atomic<unsigned> max_{0};                    // A
    atomic<unsigned> nr_waiting_{0};             // A: written under N
    ranked_mutex<lock_rank::slots> lock_;
    intrusive_list<pool_workqueue, slot_tag> waiting_ CMWQ_GUARDED_BY(lock_); // N
};

} // namespace cmwq::inline CMWQ_NS::detail
