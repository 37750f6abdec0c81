// SPDX-License-Identifier: BSL-1.0
//
// The graph of waits, and what pools tell about those who wait in them.
//
// While the lock of the graph is held nobody who is registered goes on: its thread sleeps, or waits for the lock to leave
// the graph. So a run whose thread is registered does not end, and an edge to such a run, seen under the lock of its
// pool, lasts at least as long as the lock of the graph is held, although the other edges are seen later.
#pragma once

#include <cmwq/detail/engine/diagnosis.hpp>
#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/wait_graph.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

// --- the pool ---------------------------------------------------------------------------------------------------------

inline void worker_pool::stop_waiting(item_waiter& iw) noexcept {
    const scoped_lock g(lock_);
    if (!iw.waits) return;
    item_waiter** link = iw.runner != nullptr ? &iw.runner->waiters : &item_waiters_;
    while (*link != &iw) link = &(*link)->next;
    *link = iw.next;
    iw.waits = false;
}

inline void worker_pool::stop_waiting(color_waiter& cw) noexcept {
    const scoped_lock g(lock_);
    if (cw.waits) cw.pwq->colors.forget(cw);
}

inline worker* worker_pool::draining_worker_locked() noexcept {
    if (role_ != pool_role::bottom_half || busy_.front()->current_pwq == nullptr) return nullptr;
    return busy_.front();
}

inline worker_pool::awaited_item worker_pool::look_at(const item_waiter& iw) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked(d);
    kick_locked(d);
    if (!iw.waits) return {};
    if (iw.runner != nullptr) return {.run = iw.runner, .queue = iw.runner->current_pwq->queue};
    const work_base& w = *iw.item; // pending, and listed here
    pool_workqueue& pwq = *work_access::pwq(w);
    switch (work_access::place_of(w) & place::list_mask) {
    case place::on_worker: return {.before = running_.find(w), .queue = pwq.queue};
    case place::on_inactive: return {.inactive_on = &pwq, .queue = pwq.queue};
    default: return {.before = draining_worker_locked(), .queue = pwq.queue};
    }
}

template <class F>
worker_pool::awaited_rest worker_pool::look_at(const color_waiter& cw, F&& f) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked(d);
    kick_locked(d);
    if (!cw.waits) return {};
    pool_workqueue& pwq = *cw.pwq;
    const auto covers = [&](work_base& w) {
        return work_access::pwq(w) == &pwq && pwq.colors.covers(cw, place::color_of(work_access::place_of(w)));
    };
    for (worker* k = busy_.front(); k != nullptr; k = busy_.next(*k)) {
        if (k->current_pwq == &pwq && pwq.colors.covers(cw, k->current_color)) f(*k, awaited_as::run);
        for (work_base* w = k->scheduled.front(); w != nullptr; w = k->scheduled.next(*w)) {
            if (covers(*w)) f(*k, awaited_as::before);
        }
    }
    if (worker* const draining = draining_worker_locked(); draining != nullptr) {
        for (work_base* w = worklist_.front(); w != nullptr; w = worklist_.next(*w)) {
            if (covers(*w)) f(*draining, awaited_as::before);
        }
    }
    awaited_rest rest{.slots = pwq.slots};
    for (work_base* w = pwq.inactive.front(); w != nullptr && !rest.inactive; w = pwq.inactive.next(*w)) {
        rest.inactive = covers(*w);
    }
    return rest;
}

template <class F>
worker_pool::active_items worker_pool::count_active(const pool_workqueue& pwq, const F& is_stuck) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked(d);
    kick_locked(d);
    active_items n{.all = pwq.nr_active, .frozen = pwq.frozen || pwq.held_back};
    for (worker* k = busy_.front(); k != nullptr; k = busy_.next(*k)) {
        unsigned here = k->current_pwq == &pwq ? 1 : 0;
        for (work_base* w = k->scheduled.front(); w != nullptr; w = k->scheduled.next(*w)) {
            if (work_access::pwq(*w) == &pwq) ++here;
        }
        if (here != 0 && is_stuck(*k)) n.stuck += here;
    }
    return n;
}

// --- one wait ---------------------------------------------------------------------------------------------------------

inline registered_wait::registered_wait(wait_call by, const item_name& item, item_waiter& iw, std::uint64_t pool_id)
    : by_(by), self_(own_run()), who_(name_of_run(self_)), item_(item), iw_(&iw), pool_id_(pool_id) {
    enter();
}

inline registered_wait::registered_wait(wait_call by, const queue_core& q, color_waiter* nodes, unsigned n)
    : by_(by), self_(n == 0 ? nullptr : own_run()), who_(name_of_run(self_)), queue_(&q), nodes_(nodes), nr_nodes_(n) {
    enter();
}

// Check and registration are one step: of those who close a cycle together, the last one sees it.
inline void registered_wait::enter() {
    if (self_ == nullptr) return;
    check_rescue();
    std::vector<told_wait> cycle;
    bool closes = false;
    wait_graph& graph = wait_graph::get_locked();
    graph.is_locked();
    if (registered_wait* const last = graph.find_cycle_locked(*this); last != nullptr) {
        closes = true;
        try {
            cycle = graph.tell_cycle_locked(*last);
        } catch (const std::bad_alloc&) {
            cycle.clear(); // said in fewer words
        }
        if (!by_.may_throw) {
            for (registered_wait* r = last; r != nullptr; r = r->from_) r->reported_ = true;
        }
    }
    if (!closes || !by_.may_throw) graph.enlist_locked(*this);
    graph.lock_.unlock();
    if (!closes) return;
    if (!by_.may_throw) {
        self_->pool.runtime().report(event::kind::deadlock, 0, current_cpu(), [&] { return describe_cycle(cycle); });
        return;
    }
    stop_waiting();
    throw_deadlock(describe_cycle(cycle));
}

// Who is to go on without memory must not wait for somebody who needs it.
inline void registered_wait::check_rescue() noexcept {
    queue_core& mine = *self_->current_pwq->queue;
    if (mine.its_rescuer == nullptr || !by_.of_pending) return;
    const auto depends_on = [](const queue_core* q) {
        return q != nullptr && q->its_rescuer == nullptr && q->kind != pool_kind::dispatcher; // which needs no thread
    };
    bool depends = false;
    std::string other;
    try {
        if (queue_ != nullptr) {
            depends = depends_on(queue_);
            if (depends) other = queue_->name;
        } else if (const directory::pin at(pool_id_); at.runtime != nullptr) {
            at.runtime->with_queues_kept([&] {
                const queue_core* const q = at.runtime->pool(pool_id_).look_at(*iw_).queue;
                depends = depends_on(q);
                if (depends) other = q->name;
            });
        }
    } catch (const std::bad_alloc&) { // what could be told would have no names
        return;
    }
    if (!depends || !mine.first_report(event::kind::flush_dependency)) return;
    mine.rt.report(event::kind::flush_dependency, 0, current_cpu(), [&] {
        return "cmwq: " + describe(who_) + " of " + describe_queue(mine.name) + ", which has a rescuer, waits in " +
               by_.name + " for " + (queue_ == nullptr ? describe(item_) + " of " : std::string()) +
               describe_queue(other) + ", which has none: if no thread can be made, both stand still";
    });
}

// Nobody has been told yet that this thread sleeps, so it can leave at any moment.
inline void registered_wait::stop_waiting() noexcept {
    for (unsigned i = 0; i < nr_nodes_; ++i) nodes_[i].pool->stop_waiting(nodes_[i]);
    if (iw_ == nullptr) return;
    const directory::pin at(pool_id_);
    if (at.runtime != nullptr) at.runtime->pool(pool_id_).stop_waiting(*iw_);
}

inline registered_wait::~registered_wait() {
    if (self_ == nullptr) return;
    wait_graph& graph = wait_graph::get_locked();
    graph.is_locked();
    graph.waits_.remove(*this);
    for (worker* k = self_; k != nullptr; k = k->beneath) k->waits = nullptr;
    graph.lock_.unlock();
}

// --- the graph --------------------------------------------------------------------------------------------------------

inline wait_graph& wait_graph::get_locked() noexcept {
    for (;;) {
        wait_graph& g = get();
        g.lock_.lock();
        if (g.merged_into_.load(relaxed) == nullptr) return g;
        g.lock_.unlock();
    }
}

// The one at the lower address stays, so that all who merge agree. As plain mutexes: of that rank nobody else takes two.
inline void wait_graph::merge(wait_graph& a, wait_graph& b) noexcept {
    for (;;) {
        wait_graph *to = &root_of(a), *from = &root_of(b);
        if (to == from) return;
        if (from < to) std::swap(to, from);
        mutex &first = to->lock_, &second = from->lock_;
        first.lock();
        second.lock();
        const bool are_roots = to->merged_into_.load(relaxed) == nullptr && from->merged_into_.load(relaxed) == nullptr;
        if (are_roots) {
            while (registered_wait* const r = from->waits_.back()) { // the oldest first
                from->waits_.remove(*r);
                to->waits_.push_front(*r);
            }
            from->merged_into_.store(to, release); // [COPY-2]
        }
        second.unlock();
        first.unlock();
        if (are_roots) return;
    }
}

inline bool wait_graph::belongs_to(const registered_wait& r, const runtime_core& rt) noexcept {
    return &r.self_->pool.runtime() == &rt;
}

inline void wait_graph::enlist_locked(registered_wait& r) noexcept {
    r.since_ = steady_now();
    waits_.push_front(r);
    for (worker* k = r.self_; k != nullptr; k = k->beneath) k->waits = &r;
    runtime_core& rt = r.self_->pool.runtime();
    const std::int64_t due = rt.look_at_waits_at.load(relaxed), mine = r.since_ + patience;
    if (due != 0 && due <= mine) return;
    rt.look_at_waits_at.store(mine, relaxed); // carried by the permit: [PARK-1]
    rt.request_service();
}

template <class F>
void wait_graph::for_each_awaited_run_locked(registered_wait& r, F&& f) noexcept {
    for (unsigned i = 0; i < r.nr_nodes_; ++i) {
        r.nodes_[i].pool->look_at(r.nodes_[i], [&](worker& k, worker_pool::awaited_as as) {
            if (as == worker_pool::awaited_as::run) f(k);
        });
    }
    if (r.iw_ == nullptr) return;
    const directory::pin at(r.pool_id_); // what it waits for may have happened, and the runtime be on its way
    if (at.runtime == nullptr) return;
    if (worker* const k = at.runtime->pool(r.pool_id_).look_at(*r.iw_).run; k != nullptr) f(*k);
}

// Follows runs that wait for runs, from a wait that is not entered yet, until one comes back to its thread. Nobody but
// those runs could break such a cycle, and none of them will. Returns the last wait, from which `from_` leads back.
inline registered_wait* wait_graph::find_cycle_locked(registered_wait& start) noexcept {
    const std::uint64_t search = ++search_;
    registered_wait* found = nullptr;
    registered_wait* todo = &start;
    while (todo != nullptr && found == nullptr) {
        registered_wait& r = *todo;
        todo = r.link_;
        for_each_awaited_run_locked(r, [&](worker& k) {
            for (const worker* mine = start.self_; mine != nullptr; mine = mine->beneath) {
                if (mine == &k) found = &r;
            }
            registered_wait* const next = k.waits;
            if (next == nullptr || next->mark_ == search) return;
            next->mark_ = search;
            next->from_ = &r;
            next->link_ = todo;
            todo = next;
        });
    }
    start.link_ = nullptr;
    return found;
}

template <class F>
bool wait_graph::is_full(const queue_core& q, const pool_workqueue* pwq, const node_slots* slots,
                         const F& is_stuck) noexcept {
    worker_pool::active_items n{};
    q.for_each_pwq([&](pool_workqueue& p) {
        if (slots != nullptr ? p.slots != slots : &p != pwq) return;
        const worker_pool::active_items here = p.pool->count_active(p, is_stuck);
        n.all += here.all;
        n.stuck += here.stuck;
        n.frozen |= here.frozen;
    });
    // Nothing active at all is between two states, or frozen, which somebody is going to end.
    return n.all != 0 && n.all == n.stuck && !n.frozen;
}

template <class F>
bool wait_graph::is_stuck_locked(registered_wait& r, const F& is_stuck) noexcept {
    r.full_ = nullptr;
    if (r.iw_ != nullptr) {
        const directory::pin at(r.pool_id_);
        if (at.runtime == nullptr) return false;
        bool stuck = false;
        // The queue of a pending item stays as long as its runtime cannot forget it.
        at.runtime->with_queues_kept([&] {
            const worker_pool::awaited_item a = at.runtime->pool(r.pool_id_).look_at(*r.iw_);
            if (a.run != nullptr) {
                stuck = is_stuck(*a.run);
            } else if (a.before != nullptr) {
                stuck = is_stuck(*a.before);
            } else if (a.inactive_on != nullptr) {
                const queue_core& q = *a.inactive_on->queue;
                stuck = is_full(q, a.inactive_on, a.inactive_on->slots, is_stuck);
                if (stuck) r.full_ = &q;
            }
        });
        return stuck;
    }
    bool stuck = false;
    for (unsigned i = 0; i < r.nr_nodes_; ++i) {
        color_waiter& node = r.nodes_[i];
        const worker_pool::awaited_rest rest =
            node.pool->look_at(node, [&](worker& k, worker_pool::awaited_as) { stuck |= is_stuck(k); });
        if (!rest.inactive || !is_full(*r.queue_, node.pwq, rest.slots, is_stuck)) continue;
        stuck = true;
        r.full_ = r.queue_;
    }
    return stuck;
}

// The greatest set of waits that keep each other from ending: all of them at first, then without those that will end.
inline void wait_graph::find_stuck_locked(std::int64_t now) noexcept {
    registered_wait* candidates = nullptr;
    for (registered_wait* r = waits_.back(); r != nullptr; r = waits_.prev(*r)) {
        r->stuck_ = true;
        r->link_ = candidates;
        candidates = r;
    }
    const auto is_stuck = [](const worker& k) { return k.waits != nullptr && k.waits->stuck_; };
    for (bool changed = true; changed;) { // each turn in the other direction, because chains are long in one of them
        changed = false;
        registered_wait* rest = nullptr;
        while (registered_wait* r = candidates) {
            candidates = r->link_;
            r->link_ = nullptr;
            if (is_stuck_locked(*r, is_stuck)) {
                r->link_ = rest;
                rest = r;
            } else {
                r->stuck_ = false;
                changed = true;
            }
        }
        candidates = rest;
    }
    while (registered_wait* r = candidates) candidates = std::exchange(r->link_, nullptr);
    for (registered_wait* r = waits_.front(); r != nullptr; r = waits_.next(*r)) {
        if (!r->stuck_) r->suspected_since_ = 0;
        else if (r->suspected_since_ == 0) r->suspected_since_ = now;
    }
}

// A wait that is stuck leads to some that are stuck because of each other. Tells those, if they are confirmed, and marks
// them and it as reported; empty: they are not, or were reported.
inline std::vector<told_wait> wait_graph::tell_knot_locked(registered_wait& r, std::int64_t now) {
    const auto is_stuck = [](const worker& k) { return k.waits != nullptr && k.waits->stuck_; };
    const std::uint64_t walk = ++search_, search = ++search_;
    registered_wait* at = &r;
    while (at->mark_ != walk) { // along any edge, until it comes back to where it has been
        at->mark_ = walk;
        registered_wait* next = nullptr;
        static_cast<void>(is_stuck_locked(*at, [&](const worker& k) {
            if (is_stuck(k)) next = k.waits;
            return is_stuck(k);
        }));
        if (next == nullptr) return {};
        at = next;
    }
    std::vector<registered_wait*> knot{at};
    at->mark_ = search;
    for (std::size_t i = 0; i < knot.size(); ++i) {
        std::vector<registered_wait*> next(waits_.size()); // nothing is allocated under a pool lock
        std::size_t n = 0;
        static_cast<void>(is_stuck_locked(*knot[i], [&](const worker& k) {
            if (!is_stuck(k)) return false;
            if (k.waits->mark_ != search) {
                k.waits->mark_ = search;
                next[n++] = k.waits;
            }
            return true;
        }));
        knot.insert(knot.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(n));
    }
    if (!std::ranges::all_of(knot, [&](const registered_wait* k) { return is_confirmed(*k, now); })) return {};
    std::vector<told_wait> told;
    if (!std::ranges::all_of(knot, [](const registered_wait* k) { return k->reported_; })) {
        for (const registered_wait* k : knot) told.push_back(tell_locked(*k));
    }
    for (registered_wait* k : knot) k->reported_ = true;
    r.reported_ = true;
    return told;
}

// A wait is looked at often while it is young, and then again whenever it has lasted twice as long: something else than a
// wait may have made it stuck, a limit that was lowered for instance. One that is suspected is looked at soon.
inline std::int64_t wait_graph::next_look_locked(const runtime_core& rt, std::int64_t now) noexcept {
    std::int64_t next = 0;
    for (registered_wait* r = waits_.front(); r != nullptr; r = waits_.next(*r)) {
        if (r->reported_ || !belongs_to(*r, rt)) continue;
        const std::int64_t age = now - r->since_;
        const std::int64_t at = r->stuck_ || age < young ? now + patience : now + age;
        if (next == 0 || at < next) next = at;
    }
    return next;
}

inline std::int64_t wait_graph::look(runtime_core& rt) noexcept {
    const std::int64_t due = rt.look_at_waits_at.load(relaxed); // the permit of who has set it was taken: [PARK-2]
    if (due == 0) return 0;
    const std::int64_t now = steady_now();
    if (now < due) return due;
    std::vector<std::vector<told_wait>> knots;
    std::int64_t next = 0;
    lock_.lock();
    if (wait_graph* const instead = merged_into_.load(relaxed); instead != nullptr) {
        lock_.unlock();
        return instead->look(rt);
    }
    find_stuck_locked(now);
    try {
        for (registered_wait* r = waits_.back(); r != nullptr; r = waits_.prev(*r)) {
            if (r->reported_ || !belongs_to(*r, rt) || !is_confirmed(*r, now)) continue;
            knots.emplace_back();
            knots.back() = tell_knot_locked(*r, now);
        }
    } catch (const std::bad_alloc&) {
        if (!knots.empty() && knots.back().empty()) knots.pop_back(); // told at the next look
    }
    next = next_look_locked(rt, now);
    for (registered_wait* r = waits_.front(); r != nullptr; r = waits_.next(*r)) r->full_ = nullptr; // may go now
    rt.look_at_waits_at.store(next, relaxed); // under the lock, so that nobody's registration is overlooked
    lock_.unlock();
    for (const auto& knot : knots) rt.report(event::kind::deadlock, 0, 0, [&] { return describe_knot(knot); });
    return next;
}

// --- telling ----------------------------------------------------------------------------------------------------------

inline told_wait wait_graph::tell_locked(const registered_wait& r) const {
    told_wait w;
    w.who = r.who_;
    w.queue = r.self_->current_pwq->queue->name;
    w.call = r.by_.name;
    w.item = r.item_;
    if (r.queue_ != nullptr) w.awaited_queue = r.queue_->name;
    w.since = r.since_;
    if (r.full_ != nullptr) {
        w.full_queue = r.full_->name;
        w.max_active = r.full_->max_active();
    }
    return w;
}

inline std::vector<told_wait> wait_graph::tell_cycle_locked(registered_wait& last) const {
    std::vector<told_wait> cycle;
    for (const registered_wait* r = &last; r != nullptr; r = r->from_) cycle.push_back(tell_locked(*r));
    std::ranges::reverse(cycle);
    return cycle;
}

inline std::vector<told_wait> wait_graph::waits_of(const runtime_core& rt) {
    std::vector<told_wait> all;
    lock_.lock();
    if (wait_graph* const instead = merged_into_.load(relaxed); instead != nullptr) {
        lock_.unlock();
        return instead->waits_of(rt);
    }
    try {
        for (registered_wait* r = waits_.back(); r != nullptr; r = waits_.prev(*r)) {
            if (belongs_to(*r, rt)) all.push_back(tell_locked(*r));
        }
    } catch (...) {
        lock_.unlock();
        throw;
    }
    lock_.unlock();
    return all;
}

} // namespace cmwq::inline CMWQ_NS::detail
