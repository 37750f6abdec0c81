// SPDX-License-Identifier: BSL-1.0
//
// Bodies of group_wait.

#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/groups/group_counts.hpp>
#include <cmwq/detail/engine/groups/group_tasks.hpp>
#include <cmwq/detail/engine/groups/group_wait.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/run_timer.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/engine/ops/flush.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/threads/inner_runs.hpp>
#include <cmwq/detail/engine/waits/announced_wait.hpp>
#include <cmwq/detail/engine/waits/group_sleeper.hpp>
#include <cmwq/detail/engine/waits/running_task.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE item_pool& pool_of(const group_task& t) noexcept {
    // The caller waits for the group, so the queue and its runtime exist.
    return t.group.queue.env.pools.pool(work_access::pool_id(work_access::location_of(t)));
}

/// The caller has counted itself as an examiner of the task, and does not access it any more.
CMWQ_INLINE void stop_examining(group_task& t) noexcept {
    bool ended = false;
    {
        const scoped_lock guard(t.group.lock);
        ended = --t.nr_examiners == 0 && t.ended;
    }
    if (ended) t.perform(t, group_task::step::give_back_memory);
}

/// Calls `f(pool)` with the pool that has the task, while the task exists, even if it ends meanwhile. The caller has
/// counted itself as an examiner of the task.
template <class F>
bool examine(group_task& t, const F& f) noexcept {
    const bool result = f(pool_of(t));
    stop_examining(t);
    return result;
}

/// The calling item sleeps, and cannot run tasks itself: lets the first one that the limit keeps back start in its
/// place.
CMWQ_INLINE void start_in_place_of_waiter(group_core& g) noexcept {
    for (;;) {
        group_task* t = nullptr;
        {
            const scoped_lock guard(g.lock);
            if (g.nr_beyond_limit >= g.nr_stuck) return;
            list_moved_locked(g);
            t = g.not_started.front();
            while (t != nullptr && (t->beyond_limit || t->within_limit)) t = g.not_started.next(*t);
            if (t == nullptr) return;
            t->beyond_limit = true; // first: it may end before the pool returns
            ++g.nr_beyond_limit;
            ++t->nr_examiners;
        }
        const bool starts = examine(*t, [&](item_pool& pool) {
            if (pool.ledger.start_task_beyond_limit(*t)) return true;
            const scoped_lock guard(g.lock);
            if (!t->ended) --g.nr_beyond_limit;
            t->beyond_limit = false;
            t->within_limit = true;
            return false;
        });
        if (starts) return;
    }
}

CMWQ_INLINE group_wait::group_wait(group_core& g, wait_call by) : g_(g), by_(by), self_(own_run()) {
    check(g, self_);
    const bool same_queue = self_ != nullptr && self_->current_pwq->queue == &g.queue;
    helps_ = same_queue && may_run_in_wait(*self_);
    stuck_ = same_queue && !helps_;
    if (self_ == nullptr && g.queue.changes.takes_guests() && has_priority_of_workers(g.queue.env))
        stack_end_ = own_stack_end();
}

CMWQ_INLINE void group_wait::check(const group_core& g, const run_record* self) {
    const char* const call = "task_group::wait()";
    refuse_in_bottom_half(call);
    const auto is_among = [&g](const running_task* tasks) {
        while (tasks != nullptr && &tasks->group != &g) tasks = tasks->outer;
        return tasks != nullptr;
    };
    const bool drops = is_among(this_thread_slots().dropped);
    bool waits = drops || (g.queue.how.fifo && self != nullptr && self->current_pwq->queue == &g.queue);
    // Most groups are waited for by the item that has made them: there, a count replaces the search.
    for (const run_record* k = self; k != nullptr; k = k->interrupted)
        waits |= k == g.owner ? g.nr_in_owner != 0 : is_among(k->tasks);
    if (!waits) return;
    throw_deadlock("cmwq: " + (drops ? "a thread that drops a task of the group" : describe_own_run()) +
                   " would wait for itself in " + call);
}

// A bound queue runs its items on the CPUs on which they were queued.
CMWQ_INLINE bool group_wait::may_take(const group_task& t) const noexcept {
    return g_.queue.keyed() || work_access::pool_id(work_access::location_of(t)) == self_->pool.id();
}

CMWQ_INLINE group_wait::next_step group_wait::decide_locked(group_sleeper& s) noexcept {
    group_task* t = helps_ ? g_.not_started.back() : nullptr; // the newest one, whose data is most likely in the cache
    while (t != nullptr && !may_take(*t)) t = g_.not_started.prev(*t);
    if (t != nullptr) {
        unlist_locked(g_, *t);
        const bool local = self_->of_thread->local.take_back(*t);
        if (!local) ++t->nr_examiners;
        list_all_no_more_locked();
        return {.task = t, .local = local, .cancelled = g_.cancelled.load(relaxed)};
    }
    if (t = stack_end_ == not_a_guest ? nullptr : task_for_guest_locked(); t != nullptr) {
        ++t->nr_examiners;
        return {.task = t, .as_guest = true};
    }
    if (helps_ || stuck_) list_all_locked();
    if (lists_all_ && must_search_locked()) return {.search = true};
    if (stuck_ && !std::exchange(counted_, true)) ++g_.nr_stuck;
    s.asleep = true;
    s.next = std::exchange(g_.sleepers, &s);
    return {};
}

// The first tasks become active first, but workers are about to take them. So a later one; if the limit keeps it back,
// the first one; if it keeps that one back, none: the thread sleeps.
CMWQ_INLINE group_task* group_wait::task_for_guest_locked() noexcept {
    constexpr int nr_of_workers = 8;
    if (nr_kept_back_ == 2 || !g_.queue.changes.takes_guests()) {
        nr_kept_back_ = 0;
        return nullptr;
    }
    group_task* found = nullptr;
    int n = nr_kept_back_ == 0 ? nr_of_workers : 1;
    for (group_task* t = g_.not_started.front(); t != nullptr && n != 0; t = g_.not_started.next(*t)) {
        if (t->starts) continue;
        found = t;
        --n;
    }
    return found;
}

// From here on all tasks come to the list of the group.
CMWQ_INLINE void group_wait::list_all_locked() noexcept {
    if (std::exchange(lists_all_, true) || ++g_.nr_listing != 1) return;
    g_.lists_all.store(true, relaxed);
    g_.searched = false;
}

// From here on local tasks need not come to the list of the group again.
CMWQ_INLINE void group_wait::list_all_no_more_locked() noexcept {
    if (!std::exchange(lists_all_, false) || --g_.nr_listing != 0) return;
    g_.lists_all.store(false, relaxed);
    g_.searched = false;
}

// Whether tasks that have not started may be on local lists. Only the owner itself knows whether it has added some.
CMWQ_INLINE bool group_wait::must_search_locked() const noexcept {
    if (g_.searched) return false;
    if (g_.has_credit.load(relaxed)) return true;
    return g_.owner == self_ ? g_.has_own.load(relaxed) : g_.owner != nullptr;
}

// Puts all unlisted tasks on the list of the group. Their items stay where they are. A task that is added meanwhile
// comes to the list, too, because this thread needs them there.
CMWQ_INLINE void group_wait::search() noexcept {
    const auto list = [this](work_base& w) CMWQ_NO_TSA { list_unlisted_locked(w); };
    // A worker that gets credit only now sees the flag. The tasks that have left the list of the owner are in `moved`.
    if (g_.owner == self_ && !g_.has_credit.load(relaxed)) {
        const scoped_lock guard(g_.lock);
        self_->of_thread->local.for_each_own(list);
        g_.searched = true;
        return;
    }
    g_.queue.pwqs.for_each([&](const pool_workqueue& pwq) {
        const scoped_lock guard(g_.lock);
        if (pwq.pool->locals != nullptr) local_lists::for_each(*pwq.ledger, list);
    });
    const scoped_lock guard(g_.lock);
    g_.searched = true;
}

// The oldest task of a local list becomes the newest one of the group: a waiter takes it first, because it is likely to
// add most tasks.
CMWQ_INLINE void group_wait::list_unlisted_locked(work_base& w) noexcept {
    using place = group_task::place;
    if (!is_task_of(g_, w)) return;
    auto& t = static_cast<group_task&>(w);
    if (std::exchange(t.where, place::group_list) == place::group_list) return;
    t.listed = true;
    g_.not_started.push_front(t);
}

// Runs the newest unlisted task on the list of this worker. False: there is none.
CMWQ_INLINE bool group_wait::run_unlisted() noexcept {
    const bool own = self_ == g_.owner;
    if (!helps_ || !((own && g_.nr_own.load(relaxed) != 0) || g_.has_credit.load(relaxed))) return false;
    work_base* const w = self_->of_thread->local.take_back_if([this](work_base& one) {
        return is_task_of(g_, one) && static_cast<group_task&>(one).where != group_task::place::group_list;
    });
    if (w == nullptr) return false;
    auto& t = static_cast<group_task&>(*w);
    const bool cancelled = g_.cancelled.load(relaxed);
    run(t, cancelled);
    if (!own || ends_with_lock(g_, cancelled)) {
        end_unlisted(*self_, t, cancelled);
        return true;
    }
    count_own(g_, minus_one);
    t.perform(t, group_task::step::give_back_memory);
    return true;
}

// Whether this thread is the owner, no task is left, and since the return of the last wait() no other thread has had a
// part in the group: it has run all tasks itself, nobody else waits, and there is nothing to tell. Then wait() needs no
// lock.
CMWQ_INLINE bool group_wait::is_alone() const noexcept {
    if (self_ == nullptr || self_ != g_.owner || g_.nr_own.load(relaxed) != 0 || !process_barrier::is_ready())
        return false;
    process_barrier::here();                    // [GROUP-2]
    if (g_.watched.load(seq_cst)) return false; // [READY-1]
    return g_.awaited.load(relaxed) && !g_.has_credit.load(relaxed) && !g_.noted.load(relaxed) &&
           !g_.cancelled.load(relaxed) && !lists_all_ && !counted_;
}

// This thread is not the owner. [GROUP-2]: either the owner sees that somebody waits, or this thread sees that the
// owner has counted its last task. If the process is not registered for barriers yet, run() does nothing. [READY-1]: an
// owner that finds later that it is sees that somebody waits.
CMWQ_INLINE void group_wait::watch_locked() noexcept {
    if (g_.owner == nullptr || self_ == g_.owner || g_.watched.load(relaxed)) return;
    g_.watched.store(true, seq_cst); // [READY-1]
    process_barrier::run();          // [GROUP-2]
}

// Runs the task in the run of the calling item. That run goes on, also for the detection of CPU hogs: it cannot give
// way to other items between two tasks. Reports list both, each with its description.
CMWQ_INLINE void group_wait::run(group_task& t, bool cancelled) noexcept {
    run_record& self = *self_;
    if (self.description[0] != 0) [[unlikely]] {
        hidden_description hidden;
        self.pool.ledger.hide_description(self, hidden);
        run(t, cancelled);
        return self.pool.ledger.restore_description(self, &hidden);
    }
    ++self.nr_nested;
    self.nr_more_started.store(self.nr_more_started.load(relaxed) + 1, relaxed);
    end_wait(self, t);
    const work_access::function outer = self.inner_task.load(relaxed);
    self.inner_task.store(shown_function(t), relaxed);
    const work_base& item = t;
    call_measured(self, {&item, work_access::run(item)},
                  [&t, cancelled](run_record& k) __attribute__((always_inline)) { perform_task(&k, t, cancelled); });
    self.inner_task.store(outer, relaxed);
    if (self.description[0] != 0) [[unlikely]]
        self.pool.ledger.restore_description(self, nullptr);
    self.nr_ended.store(self.nr_ended.load(relaxed) + 1, relaxed);
    --self.nr_nested;
}

// A guest holds the lock of the pool, and a slot: with less priority it would keep others waiting.
CMWQ_INLINE bool group_wait::has_priority_of_workers(const pool_env& env) noexcept {
    const own_priority here = priority_of_this_thread(), workers = env.threads.own();
    return here.sched == workers.sched && here.nice <= workers.nice;
}

// The lowest address of the stack of this thread, if a task may run on it: the tasks of a worker have some megabytes.
// The caller may run on a stack of its own (a fiber).
CMWQ_INLINE std::uintptr_t group_wait::own_stack_end() noexcept {
    constexpr std::uintptr_t least = std::uintptr_t{256} * 1024;
    thread_slots& slots = this_thread_slots();
    if (slots.bh_depth != 0) return not_a_guest;
    stack_bounds& own = slots.stack;
    if (own.lowest == 0) own = bounds_of_stack();
    const std::uintptr_t left = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - own.lowest;
    if (own.lowest != 0 && (left > own.size || left < least)) return not_a_guest;
    return own.lowest;
}

// This thread has counted itself as an examiner of the task. If the task runs here, that counts it out, so that the
// memory of the task is freed by the worker. False: the limit keeps the task back.
CMWQ_INLINE bool group_wait::run_as_guest(group_task& t) {
    using result = worker_loop::guest_result;
    const result r = pool_of(t).threads->loop().run_as_guest(t, stack_end_);
    if (r == result::has_run) return true;
    if (r == result::gone) {
        const scoped_lock guard(g_.lock);
        t.starts = true;
    }
    stop_examining(t);
    return r == result::gone;
}

// Only a thread that is about to sleep registers its wait. The graph then knows all tasks for which it waits: it runs
// none of them, and none that it could take is left.
CMWQ_INLINE void group_wait::sleep(group_sleeper& s) {
    if (stuck_) start_in_place_of_waiter(g_);
    if (helps_ && !g_.queue.keyed() && g_.queue.freezable) g_.queue.pwqs.start_awaited_tasks();
    hand_over_bottom_halves();
    try {
        const registered_wait registered(by_, g_.queue, g_, s);
        const announced_wait announced;
        s.sleep.park();
    } catch (...) { // the wait could never end
        give_up(s);
        throw;
    }
}

// The thread does not wait any more.
CMWQ_INLINE void group_wait::give_up(group_sleeper& s) noexcept {
    refused_ = true;
    woken_sleepers woken;
    bool awake = false;
    {
        const scoped_lock guard(g_.lock);
        awake = !s.asleep;
        if (awake) {
            woken.take_all(g_); // one of them may have to do what it was woken for
        } else {
            group_sleeper** link = &g_.sleepers;
            while (*link != &s) link = &(*link)->next;
            *link = s.next;
        }
        if (std::exchange(counted_, false)) --g_.nr_stuck;
        list_all_no_more_locked();
    }
    if (awake) s.sleep.park(); // the thread that wakes it uses `s` until then
}

CMWQ_INLINE bool group_wait::wait() {
    if (self_ != nullptr && self_->timer != nullptr) [[unlikely]] {
        const timer_pause pause(*self_);
        return wait();
    }
    group_task* done = nullptr; // a local task that this thread has run
    bool cancelled = false;     // of that task
    for (;;) {
        if (done == nullptr) {
            if (run_unlisted()) continue;
            if (is_alone()) {
                g_.has_own.store(false, relaxed);
                return true;
            }
        }
        group_sleeper s(kind(), self_ != nullptr ? self_->pool.id() : 0);
        next_step next;
        bool finished = false, complete = false, mine = false;
        std::exception_ptr error;
        {
            woken_sleepers woken;
            const scoped_lock guard(g_.lock);
            std::size_t ended = 0;
            if (self_ != nullptr && self_->of_thread->credit.belongs_to(g_))
                ended = std::exchange(self_->of_thread->credit.n, 0);
            if (done != nullptr) {
                mine = note_end_locked(g_, *done, cancelled);
                ++ended;
            }
            if (ended != 0) count_down_locked(g_, ended, woken);
            list_moved_locked(g_);
            watch_locked();
            finished = finished_locked(g_);
            if (!finished) {
                next = decide_locked(s);
            } else {
                list_all_no_more_locked();
                if (counted_) --g_.nr_stuck;
                std::swap(error, g_.error);
                complete = !std::exchange(g_.incomplete, false);
                g_.cancelled.store(false, relaxed);
                g_.noted.store(false, relaxed);
                g_.has_credit.store(false, relaxed);
                if (self_ == g_.owner && self_ != nullptr) {
                    g_.has_own.store(false, relaxed);
                    g_.watched.store(false, relaxed);
                    g_.nr_counted += g_.nr_own.load(relaxed); // others have ended some of its tasks
                    g_.nr_own.store(0, relaxed);
                    woken.take_all(g_); // of the last ends the other waiters do not know
                }
                g_.awaited.store(true, relaxed);
            }
        }
        if (mine) done->perform(*done, group_task::step::give_back_memory);
        done = nullptr;
        if (finished) {
            if (error != nullptr) std::rethrow_exception(error);
            return complete;
        }
        if (next.search) {
            search();
        } else if (next.task == nullptr) {
            sleep(s);
        } else if (next.as_guest) {
            nr_kept_back_ = run_as_guest(*next.task) ? 0 : nr_kept_back_ + 1;
        } else if (next.local) {
            done = next.task;
            cancelled = next.cancelled;
            run(*done, cancelled);
        } else if (group_task& t = *next.task; examine(t, [&](item_pool& pool) {
                       return pool.ledger.take_for_waiter(t);
                   })) { // otherwise a worker runs it
            pool_workqueue& pwq = *work_access::pwq(t);
            const unsigned color = location::color_of(work_access::location_of(t));
            run(t, next.cancelled);
            end_task(t, next.cancelled);
            pwq.ledger->leave_after_waiter(pwq, color);
        }
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
