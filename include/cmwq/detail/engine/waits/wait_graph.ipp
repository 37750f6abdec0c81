// SPDX-License-Identifier: BSL-1.0
//
// The bodies of registered_wait and wait_graph.
//
// While the lock of the graph is held, no registered thread continues: it sleeps, or waits for the lock to leave the
// graph. So a run whose thread is registered does not end, and an edge to such a run, read under the lock of its pool,
// exists as long as both stay registered.

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/waits/running_task.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/engine/waits/wait_report.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- one wait --------------------------------------------------------------------------------------------------------

CMWQ_INLINE registered_wait::registered_wait(wait_call by, const item_name& item, item_waiter& iw,
                                             std::uint64_t pool_id)
    : by_(by), self_(own_run()), who_(name_of_run(self_)), item_(item), iw_(&iw), pool_id_(pool_id) {
    enter();
}

CMWQ_INLINE registered_wait::registered_wait(wait_call by, const queue_face& q, color_waiter* nodes, unsigned n)
    : by_(by), self_(n == 0 ? nullptr : own_run()), who_(name_of_run(self_)), queue_(&q), nodes_(nodes), nr_nodes_(n) {
    enter();
}

CMWQ_INLINE registered_wait::registered_wait(wait_call by, const queue_face& q, group_core& g, const group_sleeper& s)
    : by_(by), self_(own_run()), who_(name_of_run(self_)), queue_(&q), group_(&g), sleeper_(&s) {
    enter();
}

// Search and registration are one step under the lock: if several waits close a cycle together, the last one finds it.
CMWQ_INLINE void registered_wait::enter() {
    if (self_ == nullptr) return;
    check_rescue();
    std::vector<wait_report> cycle;
    bool closes = false;
    wait_graph& graph = wait_graph::get();
    graph.lock_.lock();
    graph.enlist_locked(*this);
    if (registered_wait* const last = graph.find_cycle_locked(*this); last != nullptr) {
        closes = true;
        try {
            cycle = graph.report_cycle_locked(*last);
        } catch (const std::bad_alloc&) {
            cycle.clear(); // the message does not name the cycle
        }
        if (!by_.may_throw) {
            for (registered_wait* r = last; r != nullptr; r = r->from_) r->reported_ = true;
        }
    }
    if (closes && by_.may_throw) graph.delist_locked(*this);
    else graph.request_check_locked(*this);
    graph.lock_.unlock();
    if (!closes) return;
    if (!by_.may_throw) {
        self_->pool.env().events.post(event::kind::deadlock, 0, current_cpu(),
                                      [cycle = std::move(cycle)] { return describe_cycle(cycle); });
        return;
    }
    stop_waiting();
    throw_deadlock(describe_cycle(cycle));
}

// An item with a rescuer is to make progress without memory, so it must not wait for items that need a new thread.
// Reports such a wait as an event.
CMWQ_INLINE void registered_wait::check_rescue() noexcept {
    queue_face& mine = *self_->current_pwq->queue;
    if (mine.own_rescuer == nullptr || !by_.of_pending) return;
    bool depends = false;
    short_name other;
    const auto look_at = [&](const queue_face& q) {
        depends = q.own_rescuer == nullptr && q.how.pool != pool_kind::dispatcher; // that needs no thread
        if (depends) other.copy(q.name);
    };
    if (queue_ != nullptr) look_at(*queue_);
    else if (const directory::pin at(pool_id_); at.runtime != nullptr)
        at.runtime->pool(pool_id_).ledger.with_queue_of(*iw_, look_at);
    if (!depends || !mine.first_report(event::kind::flush_dependency)) return;
    mine.env.events.post(
        event::kind::flush_dependency, 0, current_cpu(),
        [who = who_, own = short_name(mine.name), call = by_.name, for_item = queue_ == nullptr, item = item_, other] {
            return "cmwq: " + describe(who) + " of " + describe_queue(own.text) + ", which has a rescuer, waits in " +
                   call + " for " + (for_item ? describe(item) + " of " : std::string()) + describe_queue(other.text) +
                   ", which has none: if no thread can be made, both stand still";
        });
}

// The thread does not sleep yet, so it may take its waiters back at any time.
CMWQ_INLINE void registered_wait::stop_waiting() noexcept {
    for (unsigned i = 0; i < nr_nodes_; ++i) nodes_[i].pool->ledger.stop_waiting(nodes_[i]);
    if (iw_ == nullptr) return;
    const directory::pin at(pool_id_);
    if (at.runtime != nullptr) at.runtime->pool(pool_id_).ledger.stop_waiting(*iw_);
}

CMWQ_INLINE registered_wait::~registered_wait() {
    if (self_ == nullptr) return;
    wait_graph& graph = wait_graph::get();
    const scoped_lock g(graph.lock_);
    graph.delist_locked(*this);
}

// --- the graph -------------------------------------------------------------------------------------------------------

CMWQ_INLINE bool wait_graph::belongs_to(const registered_wait& r, const pool_env& env) noexcept {
    return &r.self_->pool.env() == &env;
}

CMWQ_INLINE void wait_graph::enlist_locked(registered_wait& r) noexcept {
    r.since_ = steady_now();
    waits_.push_front(r);
    for (run_record* k = r.self_; k != nullptr; k = k->interrupted) {
        k->waits = &r;
        for (running_task* t = k->tasks; t != nullptr; t = t->outer) t->list(*k);
        if (k->current_pwq != nullptr) k->current_pwq->waiting.push_back(*k); // `k` keeps this pwq until it is delisted
    }
}

CMWQ_INLINE void wait_graph::delist_locked(registered_wait& r) noexcept {
    waits_.remove(r);
    for (run_record* k = r.self_; k != nullptr; k = k->interrupted) {
        k->waits = nullptr;
        for (running_task* t = k->tasks; t != nullptr; t = t->outer) t->unlist();
        if (k->current_pwq != nullptr) k->current_pwq->waiting.remove(*k);
    }
}

CMWQ_INLINE void wait_graph::request_check_locked(const registered_wait& r) noexcept {
    diagnosis_requests& requests = r.self_->pool.env().diagnosis;
    requests.check_waits_by(std::max(r.since_ + patience, requests.no_check_before));
}

template <class F>
void wait_graph::for_each_waiting_run_locked(registered_wait& r, std::uint64_t search, F&& f) noexcept {
    if (r.group_ != nullptr) {
        running_task* t = r.group_->waiting;
        if (t == nullptr || std::exchange(t->searched_by, search) == search) return;
        for (; t != nullptr; t = t->next) f(*t->by);
        return;
    }
    for (unsigned i = 0; i < r.nr_nodes_; ++i) r.nodes_[i].pool->ledger.for_each_waiting_run(r.nodes_[i], search, f);
    if (r.iw_ == nullptr) return;
    const directory::pin at(r.pool_id_); // the awaited run may have ended, and its runtime may be gone
    if (at.runtime == nullptr) return;
    run_record* const k = at.runtime->pool(r.pool_id_).ledger.run_awaited_by(*r.iw_);
    if (k != nullptr && k->waits != nullptr) f(*k);
}

// Follows runs that wait for runs, until a wait leads back to `start`. Only the runs of such a cycle could break it,
// and they all wait. Returns the last wait of the cycle, from which `from_` leads back to `start`; null: there is no
// cycle.
CMWQ_INLINE registered_wait* wait_graph::find_cycle_locked(registered_wait& start) noexcept {
    const std::uint64_t search = ++search_;
    registered_wait* found = nullptr;
    registered_wait* todo = &start;
    while (todo != nullptr && found == nullptr) {
        registered_wait& r = *todo;
        todo = r.link_;
        for_each_waiting_run_locked(r, search, [&](run_record& k) {
            registered_wait* const next = k.waits;
            if (next == &start) found = &r;
            if (next == &start || next->mark_ == search) return;
            next->mark_ = search;
            next->from_ = &r;
            next->link_ = todo;
            todo = next;
        });
    }
    start.link_ = nullptr;
    return found;
}

// --- reports ---------------------------------------------------------------------------------------------------------

CMWQ_INLINE wait_report wait_graph::report_of_locked(const registered_wait& r) {
    wait_report w;
    w.who = r.who_;
    w.queue = r.self_->current_pwq->queue->name;
    w.call = r.by_.name;
    w.item = r.item_;
    if (r.queue_ != nullptr) w.awaited_queue = r.queue_->name;
    w.for_group = r.group_ != nullptr;
    w.since = r.since_;
    w.reported = r.reported_;
    return w;
}

CMWQ_INLINE std::vector<wait_report> wait_graph::report_cycle_locked(registered_wait& last) const {
    std::vector<wait_report> cycle;
    for (const registered_wait* r = &last; r != nullptr; r = r->from_) cycle.push_back(report_of_locked(*r));
    std::ranges::reverse(cycle);
    return cycle;
}

CMWQ_INLINE bool wait_graph::waits_of(const pool_env& env, std::vector<wait_report>& to, std::int64_t deadline) {
    wait_graph& graph = get();
    if (!try_lock_until(graph.lock_, deadline)) return false;
    const scoped_lock g(graph.lock_, adopt_lock);
    for (registered_wait* r = graph.waits_.back(); r != nullptr; r = graph.waits_.prev(*r)) {
        if (belongs_to(*r, env)) to.push_back(report_of_locked(*r));
    }
    return true;
}

}}} // namespace cmwq::CMWQ_NS::detail
