// SPDX-License-Identifier: BSL-1.0
//
// The engine's side of the API boundary: task groups.
//
// A task can start in two ways: a worker runs its item, or a waiter takes the item off the lists of the pool and runs
// the task in its own run. The lists decide which of the two happens.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/api/group_counts.ipp>
#include <cmwq/detail/engine/api/item_ops.ipp>
#include <cmwq/detail/engine/pool/bottom_halves.hpp>
#include <cmwq/detail/engine/pool/managed_workers_waits.ipp>
#include <cmwq/detail/engine/queue/flush.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/report/refusals.hpp>
#include <cmwq/detail/engine/runtime/pool_table.hpp>

#include <cstdint>
#include <cstdio>
#include <cxxabi.h>
#include <exception>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A task that a thread runs, on its stack. The list of a worker names the innermost one first.
struct running_task {
    const group_core& group;
    running_task* const outer;
};

CMWQ_INLINE void unlist_locked(group_core& g, group_task& t) noexcept CMWQ_REQUIRES(g.lock) {
    list_moved_locked(g); // it may be one of them
    if (!std::exchange(t.listed, false)) return;
    g.not_started.remove(t);
}

/// The result of a task.
struct task_result {
    bool has_run = false;
    std::exception_ptr error;
};

/// The task has ended, and its callable has been destroyed. The caller counts it down. False: another thread accesses
/// the task, and gives its memory back.
CMWQ_INLINE bool note_end_locked(group_core& g, group_task& t, task_result& r) noexcept CMWQ_REQUIRES(g.lock) {
    if (r.error != nullptr && g.error == nullptr) g.error.swap(r.error);
    if (!r.has_run) g.incomplete = true;
    if (t.beyond_limit) --g.nr_beyond_limit;
    t.ended = true;
    return t.nr_examiners == 0;
}

CMWQ_INLINE void end_task(group_task& t, task_result& r) noexcept {
    woken_sleepers woken; // they are woken last: the group may be gone after the lock has been released
    group_core& g = t.group;
    bool mine = false;
    {
        const scoped_lock guard(g.lock);
        mine = note_end_locked(g, t, r);
        count_down_locked(g, 1, woken);
    }
    if (mine) t.perform(t, group_task::step::give_back_memory);
}

/// Whether the end of an unlisted task needs the lock of the group. While a waiter watches, it learns of each end.
CMWQ_INLINE bool ends_with_lock(const group_core& g, const task_result& r) noexcept {
    return r.error != nullptr || !r.has_run || g.lists_all.load(relaxed);
}

/// As end_task(), for an unlisted task that a worker has run.
CMWQ_INLINE void end_unlisted(worker& self, group_task& t, task_result& r) noexcept {
    group_core& g = t.group;
    if (ends_with_lock(g, r)) return end_task(t, r);
    add_to_credit(*self.of_thread, g);
    t.perform(t, group_task::step::give_back_memory);
}

/// Runs the task in the calling thread, and destroys its callable. The task is on no list. `self`: the record of the
/// calling thread.
CMWQ_INLINE task_result perform_task(worker* self, group_task& t, bool cancelled) noexcept {
    task_result r{.has_run = !cancelled, .error = nullptr};
    if (!cancelled) {
        running_task here{t.group, self != nullptr ? self->tasks : nullptr};
        if (self != nullptr) self->tasks = &here;
        try {
            t.perform(t, group_task::step::call);
        } catch (const abi::__forced_unwind&) { // pthread_exit()
            refuse_thread_exit();
        } catch (...) {
            r.error = std::current_exception();
        }
        if (self != nullptr) self->tasks = here.outer;
    }
    t.perform(t, group_task::step::end);
    return r;
}

CMWQ_API void run_task(work_base& w) {
    auto& t = static_cast<group_task&>(w);
    worker* const self = own_run();
    bool cancelled = false;
    const bool unlisted = t.where != group_task::place::group_list;
    if (unlisted) {
        cancelled = t.group.cancelled.load(relaxed);
    } else {
        const scoped_lock guard(t.group.lock);
        unlist_locked(t.group, t);
        cancelled = t.group.cancelled.load(relaxed);
    }
    task_result r = perform_task(self, t, cancelled);
    if (unlisted && self != nullptr && !self->is_rescue_record) end_unlisted(*self, t, r);
    else end_task(t, r);
}

CMWQ_API void drop_task(self_owned_work& w) noexcept {
    auto& t = static_cast<group_task&>(w);
    if (t.where == group_task::place::group_list) {
        const scoped_lock guard(t.group.lock);
        unlist_locked(t.group, t);
    }
    t.perform(t, group_task::step::end);
    task_result not_run;
    end_task(t, not_run);
}

/// A task that the owner of the group adds, or a task of the group in another worker, goes to the local list of that
/// worker, without the lock of the group and without the list of the group. False: it does not, and nothing has changed.
CMWQ_INLINE bool add_unlisted(group_task& t) noexcept {
    using place = group_task::place;
    group_core& g = t.group;
    worker* const self = own_run();
    if (self == nullptr) return false;
    const bool own = self == g.owner && !self->is_nested; // another thread may use a nested record next
    if (!own && (self->tasks == nullptr || &self->tasks->group != &g)) return false;
    worker& thread = *self->of_thread;
    pool_workqueue& pwq = *self->current_pwq; // which the run keeps alive
    if (pwq.queue != &g.queue || !g.queue.keyed() || !g.queue.managed) return false;
    if (self->is_rescue_record || pwq.detached.load(relaxed) || g.lists_all.load(relaxed)) return false;
    if (!accepts(g.queue, true, any_cpu)) return false;
    if (own) {
        count_own(g, 1);
        if (!g.has_own.load(relaxed)) g.has_own.store(true, relaxed);
    } else {
        take_from_credit(thread, g);
    }
    work_access::set_pwq(t, &pwq);
    t.where = own ? place::owner_list : place::local_list;
    auto& pool = static_cast<managed_pool&>(*pwq.pool);
    if (!pool.push_local_unless(g.lists_all, thread, t)) {
        t.where = place::group_list;
        if (own) count_own(g, minus_one);
        else ++thread.credit.n;
        return false;
    }
    pool.notify();
    return true;
}

// The lock is held while the item is queued, so a waiter that finds the task on the list also finds its item.
CMWQ_API queue_status add_task(group_task& t) noexcept {
    group_core& g = t.group;
    if (add_unlisted(t)) return queue_status::queued;
    if (g.queue.is_dead()) return queue_status::rejected; // in a forked child any thread may have held the lock
    woken_sleepers woken;
    const scoped_lock guard(g.lock);
    const queue_status s = g.put(g.queue, t, any_cpu);
    if (s != queue_status::queued) {
        if (finished_locked(g)) woken.take_all(g); // an end has met the task that was not added after all
        return s;
    }
    ++g.nr_counted;
    g.awaited.store(false, relaxed);
    t.listed = true;
    g.not_started.push_back(t); // it cannot start before the lock is released
    woken.take_one(g);
    return s;
}

/// Calls `f(pool)` with the pool that has the task, while the task exists, even if it ends meanwhile. The caller has
/// counted itself as an examiner of the task.
template <class F>
bool examine(group_task& t, const F& f) noexcept {
    // The calling item belongs to the queue, so the runtime exists.
    const bool result = f(t.group.queue.env.pools.pool(work_access::pool_id(work_access::location_of(t))));
    bool ended = false;
    {
        const scoped_lock guard(t.group.lock);
        ended = --t.nr_examiners == 0 && t.ended;
    }
    if (ended) t.perform(t, group_task::step::give_back_memory);
    return result;
}

/// The calling item sleeps, and cannot run tasks itself: lets one start in its place if the limit keeps it back.
CMWQ_INLINE void start_in_place_of_waiter(group_core& g) noexcept {
    group_task* t = nullptr;
    {
        const scoped_lock guard(g.lock);
        if (g.nr_beyond_limit >= g.nr_stuck) return;
        list_moved_locked(g);
        t = g.not_started.front();
        while (t != nullptr && t->beyond_limit) t = g.not_started.next(*t);
        if (t == nullptr) return;
        t->beyond_limit = true; // first: it may end before the pool returns
        ++g.nr_beyond_limit;
        ++t->nr_examiners;
    }
    static_cast<void>(examine(*t, [&](item_pool& pool) {
        if (pool.start_task_beyond_limit(*t)) return true;
        const scoped_lock guard(g.lock); // it runs within the limit
        if (!t->ended) --g.nr_beyond_limit;
        t->beyond_limit = false;
        return false;
    }));
}

/// One thread that waits for a group.
class group_wait {
public:
    /// Throws if the calling thread must not wait.
    explicit group_wait(group_core& g) : g_(g), self_(own_run()) {
        check(g, self_);
        const bool same_queue = self_ != nullptr && self_->current_pwq->queue == &g.queue;
        helps_ = same_queue && has_stack_for_nested_run(*self_);
        stuck_ = same_queue && !helps_;
    }
    group_wait(const group_wait&) = delete;
    group_wait& operator=(const group_wait&) = delete;
    ~group_wait() = default;

    /// Waits. Returns whether every task has run. Throws the first exception of a task.
    bool wait();

    /// Throws std::system_error if a thread that runs an item under `self` must not wait for the group.
    static void check(const group_core& g, const worker* self) {
        const char* const call = "task_group::wait()";
        refuse_in_bottom_half(call);
        if (self == nullptr) return;
        bool own = self->current_pwq->queue == &g.queue && g.queue.fifo;
        for (const worker* k = self; k != nullptr; k = k->interrupted) {
            for (const running_task* r = k->tasks; r != nullptr; r = r->outer) own |= &r->group == &g;
        }
        if (own) throw_deadlock("cmwq: " + describe_own_run() + " would wait for itself in " + call);
    }

private:
    struct next_step {
        bool finished = false;
        bool search = false;        ///< for unlisted tasks
        group_task* task = nullptr; ///< take it; null: sleep
        bool local = false;         ///< it has been taken off the list of the worker
        bool cancelled = false;
    };
    [[nodiscard]] bool may_take(const group_task& t) const noexcept;
    [[nodiscard]] next_step decide_locked(group_sleeper& s) noexcept CMWQ_REQUIRES(g_.lock);
    void watch_locked(bool yes) noexcept CMWQ_REQUIRES(g_.lock);
    [[nodiscard]] bool must_search_locked() const noexcept CMWQ_REQUIRES(g_.lock);
    void search() noexcept;
    void list_unlisted_locked(work_base& w) noexcept CMWQ_REQUIRES(g_.lock);
    [[nodiscard]] bool run_unlisted() noexcept;
    void sleep(group_sleeper& s) noexcept;
    [[nodiscard]] task_result run(group_task& t, bool cancelled) noexcept;

    group_core& g_;
    worker* const self_;
    bool helps_ = false;   // runs tasks itself
    bool stuck_ = false;   // may not run tasks itself, because its stack is too deep
    bool counted_ = false; // in nr_stuck
    bool watches_ = false; // in nr_watching
};

// A bound queue runs its items on the CPUs on which they were queued.
CMWQ_INLINE bool group_wait::may_take(const group_task& t) const noexcept {
    return g_.queue.keyed() || work_access::pool_id(work_access::location_of(t)) == self_->pool.id();
}

CMWQ_INLINE group_wait::next_step group_wait::decide_locked(group_sleeper& s) noexcept {
    list_moved_locked(g_);
    if (finished_locked(g_)) {
        watch_locked(false);
        return {.finished = true};
    }
    group_task* t = helps_ ? g_.not_started.back() : nullptr; // the newest one, whose data is most likely in the cache
    while (t != nullptr && !may_take(*t)) t = g_.not_started.prev(*t);
    if (t != nullptr) {
        unlist_locked(g_, *t);
        const bool local = self_->of_thread->local.take_back(*t);
        if (!local) ++t->nr_examiners;
        watch_locked(false);
        return {.task = t, .local = local, .cancelled = g_.cancelled.load(relaxed)};
    }
    if (helps_ || stuck_) watch_locked(true);
    if (watches_ && must_search_locked()) return {.search = true};
    if (stuck_ && !std::exchange(counted_, true)) ++g_.nr_stuck;
    s.next = std::exchange(g_.sleepers, &s);
    return {};
}

// From here on tasks come to the list of the group, or they do again.
CMWQ_INLINE void group_wait::watch_locked(bool yes) noexcept {
    if (std::exchange(watches_, yes) == yes) return;
    g_.nr_watching += yes ? 1 : -1u;
    if (g_.nr_watching != (yes ? 1 : 0)) return;
    g_.lists_all.store(yes, relaxed);
    g_.searched = false;
}

// Whether tasks that have not started may be on local lists. Only the owner itself knows whether it has added some.
CMWQ_INLINE bool group_wait::must_search_locked() const noexcept {
    if (g_.searched) return false;
    if (g_.has_credit.load(relaxed)) return true;
    return g_.owner == self_ ? g_.has_own.load(relaxed) : g_.owner != nullptr;
}

// Puts all unlisted tasks on the list of the group. Their items stay where they are. A task that is added meanwhile comes
// to the list, too, because this thread watches.
CMWQ_INLINE void group_wait::search() noexcept {
    const auto list = [this](work_base& w) CMWQ_NO_TSA { list_unlisted_locked(w); };
    // A worker that gets credit only now sees the flag. The tasks that have left the list of the owner are in `moved`.
    if (g_.owner == self_ && !g_.has_credit.load(relaxed)) {
        const scoped_lock guard(g_.lock);
        self_->of_thread->local.for_each(list);
        g_.searched = true;
        return;
    }
    g_.queue.for_each_pwq([&](const pool_workqueue& pwq) {
        const scoped_lock guard(g_.lock);
        pwq.pool->for_each_local_item(list);
    });
    const scoped_lock guard(g_.lock);
    g_.searched = true;
}

// The oldest task of a local list becomes the newest one of the group: a waiter takes it first, because it is likely to
// add most tasks.
CMWQ_INLINE void group_wait::list_unlisted_locked(work_base& w) noexcept {
    using place = group_task::place;
    if (work_access::run(w) != &run_task) return;
    auto& t = static_cast<group_task&>(w);
    if (&t.group != &g_ || std::exchange(t.where, place::group_list) == place::group_list) return;
    t.listed = true;
    g_.not_started.push_front(t);
}

// Runs the newest unlisted task on the list of this worker. False: there is none.
CMWQ_INLINE bool group_wait::run_unlisted() noexcept {
    const bool own = self_ == g_.owner;
    if (!helps_ || !((own && g_.nr_own.load(relaxed) != 0) || g_.has_credit.load(relaxed))) return false;
    work_base* const w = self_->of_thread->local.take_back_if([this](work_base& one) {
        return work_access::run(one) == &run_task && &static_cast<group_task&>(one).group == &g_ &&
               static_cast<group_task&>(one).where != group_task::place::group_list;
    });
    if (w == nullptr) return false;
    auto& t = static_cast<group_task&>(*w);
    task_result r = run(t, g_.cancelled.load(relaxed));
    if (!own || ends_with_lock(g_, r)) {
        end_unlisted(*self_, t, r);
        return true;
    }
    count_own(g_, minus_one);
    t.perform(t, group_task::step::give_back_memory);
    return true;
}

// Runs the task in the run of the calling item.
CMWQ_INLINE task_result group_wait::run(group_task& t, bool cancelled) noexcept {
    self_->nr_runs.store(self_->nr_runs.load(relaxed) + 1, relaxed); // a new run, for the detection of CPU hogs
    ++self_->nr_nested;
    self_->nr_more_started.store(self_->nr_more_started.load(relaxed) + 1, relaxed);
    task_result r = perform_task(self_, t, cancelled);
    self_->nr_more_ended.store(self_->nr_more_ended.load(relaxed) + 1, relaxed);
    --self_->nr_nested;
    return r;
}

CMWQ_INLINE void group_wait::sleep(group_sleeper& s) noexcept {
    if (stuck_) start_in_place_of_waiter(g_);
    hand_over_bottom_halves();
    const blocking_region region;
    s.sleep.park();
}

CMWQ_INLINE bool group_wait::wait() {
    group_task* done = nullptr; // a local task that this thread has run
    task_result result;
    for (;;) {
        if (done == nullptr && run_unlisted()) continue;
        group_sleeper s(helps_ || stuck_);
        next_step next;
        bool complete = false, mine = false;
        std::exception_ptr error;
        {
            woken_sleepers woken;
            const scoped_lock guard(g_.lock);
            std::size_t ended = 0;
            if (self_ != nullptr && self_->of_thread->credit.belongs_to(g_))
                ended = std::exchange(self_->of_thread->credit.n, 0);
            if (done != nullptr) {
                mine = note_end_locked(g_, *done, result);
                ++ended;
            }
            if (ended != 0) count_down_locked(g_, ended, woken);
            next = decide_locked(s);
            if (next.finished) {
                if (counted_) --g_.nr_stuck;
                error.swap(g_.error);
                complete = !std::exchange(g_.incomplete, false);
                g_.cancelled.store(false, relaxed);
                g_.has_credit.store(false, relaxed);
                if (self_ == g_.owner && self_ != nullptr) {
                    g_.has_own.store(false, relaxed);
                    woken.take_all(g_); // of the last ends the other waiters do not know
                }
                g_.awaited.store(true, relaxed);
            }
        }
        if (mine) done->perform(*done, group_task::step::give_back_memory);
        done = nullptr;
        if (next.finished) {
            if (error != nullptr) std::rethrow_exception(error);
            return complete;
        }
        if (next.search) {
            search();
        } else if (next.task == nullptr) {
            sleep(s);
        } else if (next.local) {
            result = run(*next.task, next.cancelled);
            done = next.task;
        } else if (group_task& t = *next.task;
                   examine(t, [&](item_pool& pool) { return pool.take_for_waiter(t); })) { // otherwise a worker runs it
            pool_workqueue& pwq = *work_access::pwq(t);
            const unsigned color = location::color_of(work_access::location_of(t));
            task_result r = run(t, next.cancelled);
            end_task(t, r);
            pwq.pool->leave_after_waiter(pwq, color);
        }
    }
}

CMWQ_API bool wait_for_group(group_core& g) {
    if (g.queue.is_dead()) return false; // in a forked child the tasks never run
    return group_wait(g).wait();
}

CMWQ_API void cancel_group(group_core& g) noexcept {
    if (g.queue.is_dead()) return;
    const scoped_lock guard(g.lock);
    g.cancelled.store(true, relaxed);
}

CMWQ_API void end_group(group_core& g) noexcept {
    if ((g.awaited.load(relaxed) && !g.has_own.load(relaxed)) || g.queue.is_dead()) return;
    {
        const scoped_lock guard(g.lock);
        if (finished_locked(g)) return;
    }
    try {
        group_wait wait(g);
        try {
            static_cast<void>(wait.wait());
        } catch (...) { // an exception of a task, for which the program does not ask
            return;
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s, called by ~task_group()\n", e.what());
        std::terminate(); // a destructor can neither throw nor wait for itself
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
