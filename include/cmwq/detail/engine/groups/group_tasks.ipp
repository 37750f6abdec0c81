// SPDX-License-Identifier: BSL-1.0
//
// Bodies of group_tasks.hpp. A task can start in two ways: a worker runs its item, or a waiter takes the item off the
// lists of the pool and runs the task in its own run. The lists decide which of the two happens.

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/groups/group_counts.hpp>
#include <cmwq/detail/engine/groups/group_tasks.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/engine/ops/queueing.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/waits/running_task.hpp>

#include <exception>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void unlist_locked(group_core& g, group_task& t) noexcept {
    list_moved_locked(g); // it may be one of them
    if (!std::exchange(t.listed, false)) return;
    g.not_started.remove(t);
}

CMWQ_INLINE void note_incomplete_locked(group_core& g) noexcept {
    g.incomplete = true;
    g.noted.store(true, relaxed);
}

CMWQ_INLINE bool note_end_locked(group_core& g, group_task& t, bool cancelled) noexcept {
    if (cancelled) note_incomplete_locked(g); // it has not run
    if (t.beyond_limit) --g.nr_beyond_limit;
    t.ended = true;
    return t.nr_examiners == 0;
}

CMWQ_INLINE void end_task(group_task& t, bool cancelled) noexcept {
    woken_sleepers woken; // they are woken last: the group may be gone after the lock has been released
    group_core& g = t.group;
    bool mine = false;
    {
        const scoped_lock guard(g.lock);
        mine = note_end_locked(g, t, cancelled);
        count_down_locked(g, 1, woken);
    }
    if (mine) t.perform(t, group_task::step::give_back_memory);
}

CMWQ_INLINE bool ends_with_lock(const group_core& g, bool cancelled) noexcept {
    return cancelled || g.lists_all.load(relaxed);
}

CMWQ_INLINE void end_unlisted(run_record& self, group_task& t, bool cancelled) noexcept {
    group_core& g = t.group;
    if (ends_with_lock(g, cancelled)) return end_task(t, cancelled);
    add_to_credit(*self.of_thread, g);
    t.perform(t, group_task::step::give_back_memory);
}

CMWQ_INLINE void keep_error(group_core& g) noexcept {
    refuse_thread_exit_in_handler();
    const scoped_lock guard(g.lock);
    if (g.error == nullptr) g.error = std::current_exception();
    g.noted.store(true, relaxed);
}

CMWQ_API void run_task(work_base& w) {
    auto& t = static_cast<group_task&>(w);
    run_record* const self = own_run();
    bool cancelled = false;
    const bool unlisted = t.where != group_task::place::group_list;
    if (unlisted) {
        cancelled = t.group.cancelled.load(relaxed);
    } else {
        const scoped_lock guard(t.group.lock);
        unlist_locked(t.group, t);
        cancelled = t.group.cancelled.load(relaxed);
        if (self != nullptr && std::exchange(self->of_thread->examines_task, false)) --t.nr_examiners;
    }
    if (self != nullptr) self->function.store(shown_function(t), relaxed);
    perform_task(self, t, cancelled);
    if (unlisted && self != nullptr && !self->of_thread->is_rescuer()) end_unlisted(*self, t, cancelled);
    else end_task(t, cancelled);
}

CMWQ_API void drop_task(self_owned_work& w) noexcept {
    auto& t = static_cast<group_task&>(w);
    if (t.where == group_task::place::group_list) {
        const scoped_lock guard(t.group.lock);
        unlist_locked(t.group, t);
    }
    constexpr bool cancelled = true;
    perform_task(nullptr, t, cancelled);
    end_task(t, cancelled);
}

/// A task that the owner of the group adds, or a task of the group in another worker, goes to the local list of that
/// worker, without the lock of the group and without the list of the group. False: it does not, and nothing has
/// changed.
CMWQ_INLINE bool add_unlisted(group_task& t) noexcept {
    using place = group_task::place;
    group_core& g = t.group;
    run_record* const self = own_run();
    if (self == nullptr) return false;
    const bool own = self == g.owner && !self->is_nested(); // another thread may use a nested record next
    if (!own && (self->tasks == nullptr || &self->tasks->group != &g)) return false;
    worker& thread = *self->of_thread;
    pool_workqueue& pwq = *self->current_pwq; // which the run keeps alive
    if (pwq.queue != &g.queue || !g.queue.how.local_lists) return false;
    if (thread.is_rescuer() || pwq.detached.load(relaxed) || g.lists_all.load(relaxed)) return false;
    if (!accepts(g.queue, any_cpu)) return false;
    if (own) {
        count_own(g, 1);
        g.has_own.store(true, relaxed);
    } else {
        take_from_credit(thread, g);
    }
    t.where = own ? place::owner_list : place::local_list;
    item_pool& pool = self->pool;
    if (!pool.locals->push_unless(g.lists_all, pool.ledger, thread, t)) {
        t.where = place::group_list;
        if (own) count_own(g, minus_one);
        else ++thread.credit.n;
        return false;
    }
    pool.concurrency->wake_a_worker();
    return true;
}

// The lock is held while the item is queued, so a waiter that finds the task on the list also finds its item.
CMWQ_API queue_status add_task(group_task& t) noexcept {
    group_core& g = t.group;
    if (add_unlisted(t)) return queue_status::queued;
    if (g.queue.gate.is_dead()) return queue_status::rejected; // in a forked child any thread may have held the lock
    woken_sleepers woken;
    const scoped_lock guard(g.lock);
    const queue_status s = queue_work(g.queue, t, any_cpu);
    if (s != queue_status::queued) {
        note_incomplete_locked(g);
        if (finished_locked(g)) woken.take_all(g); // an end has met the task that was not added after all
        return s;
    }
    ++g.nr_counted;
    g.awaited.store(false, relaxed);
    t.listed = true;
    g.not_started.push_back(t); // it cannot start before the lock is released
    woken.take_one_for(t, g);
    return s;
}

}}} // namespace cmwq::CMWQ_NS::detail
