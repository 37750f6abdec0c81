// SPDX-License-Identifier: BSL-1.0
//
// local_items: the items that a worker of an elastic pool has queued from inside its runs.
#pragma once

#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/sync/biased_mutex.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The list of one worker, its owner. As in the inbox of the pool, the items have no color and no slot yet. The owner
/// takes the newest one and runs it in its current run, with the color and the slot of that run. Other workers take the
/// oldest ones. A thread that must know one of the items, or every item of the pool, moves all of them to the lists of
/// the pool: it *recalls* them.
///
/// Letters: P its own lock · A atomic · L pool lock
class local_items {
public:
    enum class end : bool { oldest, newest };

    local_items() noexcept = default;
    local_items(const local_items&) = delete;
    local_items& operator=(const local_items&) = delete;

    /// Any thread. A snapshot.
    [[nodiscard]] bool empty() const noexcept { return size_.load(seq_cst) == 0; } // [LOC-1]
    [[nodiscard]] unsigned size() const noexcept { return size_.load(relaxed); }
    /// The place of the oldest item; ages::none: there is none. A snapshot.
    [[nodiscard]] ages::place oldest(const ages& a) const noexcept {
        const wait_stamp s = first_.load(relaxed);
        return s != 0 ? a.of(s) : ages::none;
    }

    // --- the owner ---------------------------------------------------------------------------------------------------

    void push(work_base& w) noexcept CMWQ_EXCLUDES(lock_) {
        const own_lock g(lock_);
        push_locked(w);
    }
    /// Assigns the item to `pwq`, and pushes it, unless `stop` is set. A thread that sets it, and then calls
    /// for_each(), finds the item, or the owner has seen the flag. False: nothing has changed.
    [[nodiscard]] bool push_unless(const atomic<bool>& stop, work_base& w, pool_workqueue& pwq) noexcept
        CMWQ_EXCLUDES(lock_) {
        const own_lock g(lock_);
        if (stop.load(relaxed)) return false; // the lock carries the order
        assign(w, pwq);
        push_locked(w);
        return true;
    }
    enum class wanted : unsigned char { any, closure };
    /// Takes the item at that end, if it belongs to `of`, is wanted, and may follow in the current run: no recall has
    /// come since its begin. Null otherwise. `nr_recalls`: of the pool.
    [[nodiscard]] work_base* take_follow_up(end from, const pool_workqueue& of, wanted which,
                                            const atomic<std::uint64_t>& nr_recalls) noexcept CMWQ_EXCLUDES(lock_) {
        if (size_.load(relaxed) == 0) return nullptr; // the owner has written it, or items were taken away
        const own_lock g(lock_);
        const bool continues = continues_since_.load(relaxed) == nr_recalls.load(seq_cst); // [LOC-4]
        work_base* const w = continues ? at(from) : nullptr;
        if (w == nullptr || work_access::pwq(*w) != &of) return nullptr;
        if (which == wanted::closure && !work_access::is_self_owned(*w)) return nullptr;
        remove_locked(*w);
        return w;
    }
    /// Removes an item if it is one of the four newest ones. False: it is not; only its address is read then.
    [[nodiscard]] bool take_back(work_base& w) noexcept CMWQ_EXCLUDES(lock_) {
        return take_back_if([&w](const work_base& one) { return &one == &w; }) != nullptr;
    }
    /// Removes the newest item of which `f` is true, if it is one of the four newest ones. Null otherwise.
    template <class F>
    [[nodiscard]] work_base* take_back_if(F&& f) noexcept CMWQ_EXCLUDES(lock_) {
        constexpr int nr_looks = 4;
        if (size_.load(relaxed) == 0) return nullptr;
        const own_lock g(lock_);
        work_base* at = list_.back();
        for (int i = 0; i < nr_looks && at != nullptr; ++i, at = list_.prev(*at)) {
            if (!f(*at)) continue;
            remove_locked(*at);
            return at;
        }
        return nullptr;
    }
    [[nodiscard]] work_base* take(end which) noexcept CMWQ_EXCLUDES(lock_) {
        const own_lock g(lock_);
        return take_locked(which);
    }
    /// Moves all items to `to`, as recall() does.
    void give_back(item_list& to, const ages& a) noexcept CMWQ_EXCLUDES(lock_) {
        item_list own;
        {
            const own_lock g(lock_);
            move_all_locked(own);
        }
        merge(to, own, a);
    }
    /// Calls `f(work_base&)` for each item, the oldest one first.
    template <class F>
    void for_each_own(F&& f) noexcept CMWQ_EXCLUDES(lock_) {
        const own_lock g(lock_);
        for_each_locked(f);
    }

    // --- other threads, under the pool lock --------------------------------------------------------------------------

    /// A thread that needs the lists of several workers calls this for each of them first. True: process_barrier::run()
    /// must follow, once for all.
    [[nodiscard]] bool announce_visit() noexcept { return lock_.announce(); }
    [[nodiscard]] std::uint64_t nr_revocations() const noexcept { return lock_.nr_revocations(); }

    [[nodiscard]] work_base* give_oldest() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        return take_locked(end::oldest);
    }
    /// Moves the older half of the items to `to`, at most `max`. The caller is the owner of that list.
    void give_oldest(local_items& to, unsigned max) noexcept CMWQ_EXCLUDES(lock_) {
        item_list moved;
        {
            const scoped_lock g(lock_);
            for (auto n = (list_.size() + 1) / 2; n != 0 && moved.size() < max; --n) {
                work_base& w = list_.first();
                remove_locked(w);
                note_moved(w, moved_to::worker);
                moved.push_back(w);
            }
        }
        if (!moved.empty()) to.push_all(moved);
    }
    /// Moves all items to `to`, which is sorted by `a`. Until its next run, the owner takes no item that follows in its
    /// current one.
    void recall(item_list& to, const ages& a) noexcept CMWQ_EXCLUDES(lock_) {
        if (continues_since_.load(relaxed) == never && empty())
            return; // many blocked workers have been recalled before
        item_list own;
        {
            const scoped_lock g(lock_);
            move_all_locked(own);
        }
        merge(to, own, a);
    }
    /// Calls `f(work_base&)` for the oldest item, if there is one.
    template <class F>
    void look_at_oldest(F&& f) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (work_base* const w = list_.front(); w != nullptr) f(*w);
    }
    /// Calls `f(work_base&)` for each item, the oldest one first.
    template <class F>
    void for_each(F&& f) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_); // also if the list is empty: the owner may be in push_unless()
        for_each_locked(f);
    }
    /// The owner begins a run. `admitted`: items of the list may follow in it, until the next recall. `nr_recalls`: how
    /// many the pool has had.
    void begin_run(bool admitted, std::uint64_t nr_recalls) noexcept {
        const std::uint64_t since = admitted ? nr_recalls : never;
        if (continues_since_.load(relaxed) != since) continues_since_.store(since, relaxed);
    }

private:
    static constexpr std::uint64_t never = UINT64_MAX;

    [[nodiscard]] work_base* at(end which) noexcept CMWQ_REQUIRES(lock_) {
        return which == end::oldest ? list_.front() : list_.back();
    }
    [[nodiscard]] work_base* take_locked(end which) noexcept CMWQ_REQUIRES(lock_) {
        work_base* const w = at(which);
        if (w != nullptr) remove_locked(*w);
        return w;
    }
    void move_all_locked(item_list& to) noexcept CMWQ_REQUIRES(lock_) {
        continues_since_.store(never, relaxed);
        while (work_base* const w = list_.front()) {
            remove_locked(*w);
            note_moved(*w, moved_to::pool);
            to.push_back(*w);
        }
    }
    static void merge(item_list& to, item_list& own, const ages& a) noexcept {
        to.merge(own, [&a](const work_base& x, const work_base& y) { return a.of(age_of(x)) < a.of(age_of(y)); });
    }
    template <class F>
    void for_each_locked(F& f) noexcept CMWQ_REQUIRES(lock_) {
        for (work_base* w = list_.front(); w != nullptr; w = list_.next(*w)) f(*w);
    }
    void push_all(item_list& items) noexcept CMWQ_EXCLUDES(lock_) {
        const own_lock g(lock_);
        while (work_base* const w = items.pop_front()) list_.push_back(*w);
        publish_longer_locked();
    }
    void push_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_) {
        list_.push_back(w);
        publish_longer_locked();
    }
    void publish_longer_locked() noexcept CMWQ_REQUIRES(lock_) {
        // [LOC-1] seq_cst if the list was empty: the owner publishes the item, then it reads how many workers run.
        // Pairs with a worker that counts itself down, and then reads the size. At a later push, that worker has found
        // the list filled, or the owner has seen its count at this push.
        const auto n = static_cast<unsigned>(list_.size());
        if (size_.load(relaxed) != 0) return size_.store(n, relaxed);
        publish_first_locked();
        size_.store(n, seq_cst); // [LOC-1]
    }
    // Relaxed: a reader compares ages. Under the lock of the list it then looks whether there is an item.
    void publish_first_locked() noexcept CMWQ_REQUIRES(lock_) {
        first_.store(list_.empty() ? 0 : work_access::queued_at(list_.first()), relaxed);
    }
    void remove_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_) {
        const bool was_first = &w == list_.front();
        list_.remove(w);
        if (was_first) publish_first_locked();
        size_.store(static_cast<unsigned>(list_.size()), relaxed); // relaxed: a lower number wakes no thread
    }

    biased_mutex<lock_rank::local_items> lock_; // P
    // A: how many recalls the pool had had when the current run began; never: no item may follow in it. Written by the
    // owner, or under P; always under L
    atomic<std::uint64_t> continues_since_{never};
    item_list list_ CMWQ_GUARDED_BY(lock_); // P: in the order of their pushes
    atomic<wait_stamp> first_{0};           // A: the stamp of the first item; 0: there is none; written under P
    atomic<unsigned> size_{0};              // A: length of the list; written under P
};

}}} // namespace cmwq::CMWQ_NS::detail
