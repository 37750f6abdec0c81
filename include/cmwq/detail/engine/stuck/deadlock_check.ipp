// SPDX-License-Identifier: BSL-1.0
//
// The bodies of deadlock_check.
//
// A check holds the lock of the graph, so no registered wait ends, nor its run, and an edge between two waits, once
// read, still exists at the end. But the pools are read one after the other: a pending item may be cancelled meanwhile,
// and a slot may be on its way from one pool to another. Behind a limit, the check notices the former by the number of
// items that have left the pwq. A wait is reported only if two checks, some time apart, have found it stuck.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/stuck/deadlock_check.hpp>
#include <cmwq/detail/engine/waits/group_sleeper.hpp>
#include <cmwq/detail/engine/waits/running_task.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- what each wait depends on ---------------------------------------------------------------------------------------

CMWQ_INLINE void deadlock_check::search_locked(wait_graph& g) {
    waits_.reserve(g.waits_.size());
    for (registered_wait* r = g.waits_.back(); r != nullptr; r = g.waits_.prev(*r)) {
        r->node_ = stuck_.add_ends_after_first();
        waits_.push_back(r);
    }
    for (registered_wait* r : waits_) read_locked(*r);
    add_limits();
    add_generations();
    add_groups();
    for (const auto& [who, whom] : for_runs_) stuck_.add_edge(who, whom);
    stuck_.solve();
}

CMWQ_INLINE void deadlock_check::read_locked(registered_wait& r) {
    for (run_record* k = r.self_; k != nullptr; k = k->interrupted) {
        if (k->current_pwq != nullptr) hold_locked(*k, r.node_);
    }
    ++nr_steps_;
    for (unsigned i = 0; i < r.nr_nodes_; ++i, ++nr_steps_) {
        const pool_ledger::remaining_items rest = r.nodes_[i].pool->ledger.look_at(r.nodes_[i]);
        if (rest.pwq == nullptr) continue;
        for_items_.push_back({r.node_, rest.pwq, rest.generation});
        if (rest.inactive) for_limit_.emplace_back(r.node_, limit_of_locked(r.queue_->core, rest.pwq));
    }
    if (r.group_ != nullptr) read_group_of_locked(r);
    if (r.iw_ == nullptr) return;
    const directory::pin at(r.pool_id_); // the awaited run may have ended, and its runtime may be gone
    if (at.runtime == nullptr) return;
    item_pool& pool = at.runtime->pool(r.pool_id_);
    const pool_ledger::awaited_item a = pool.ledger.look_at(*r.iw_);
    await_run_locked(r.node_, a.run != nullptr ? a.run : a.before);
    if (a.inactive_on == nullptr) return;
    // While with_all_kept() holds the list of queues, the queue of a pending item cannot be destroyed.
    at.runtime->queues.with_all_kept([&] {
        const pool_ledger::awaited_item now = pool.ledger.look_at(*r.iw_);
        if (now.inactive_on == nullptr) return; // it is not behind a limit any more
        for_limit_.emplace_back(r.node_, limit_of_locked(now.queue->core, now.inactive_on));
    });
}

// A wait for a group depends on the runs of its tasks, as far as these are in waits, and on the limits behind which
// tasks are pending that the waiter does not take itself. All waits for a group share what is read of the group.
CMWQ_INLINE void deadlock_check::read_group_of_locked(const registered_wait& r) {
    {
        if (!r.group_->lock.try_lock()) return; // a thread adds a task, for which the waiter may be woken
        const scoped_lock guard(r.group_->lock, adopt_lock);
        if (!r.sleeper_->asleep) return; // it goes on, and may take a task
    }
    const auto [at, fresh] = group_by_address_.try_emplace(r.group_, groups_.size());
    const std::size_t index = at->second;
    if (fresh) {
        groups_.emplace_back();
        read_tasks_locked(*r.group_, index);
    }
    for_group_.emplace_back(r.node_, index);
    if (r.sleeper_->what == group_sleeper::kind::helps_all) return;
    const item_pool* const own = r.sleeper_->what == group_sleeper::kind::helps_pool ? &r.self_->pool : nullptr;
    for (const awaited_group::limit_at& l : groups_[index].limits) {
        if (l.pool != own) for_limit_.emplace_back(r.node_, l.limit);
    }
}

// Looks at the first tasks that have not started. If they start, a later check looks at others; if they never do, the
// others do not matter.
CMWQ_INLINE void deadlock_check::read_tasks_locked(group_core& g, std::size_t index) {
    constexpr std::size_t most = 64;
    for (const running_task* t = g.waiting; t != nullptr; t = t->next, ++nr_steps_)
        runs_tasks_.emplace_back(index, t->by->waits->node_);
    struct place {
        const pool_workqueue* pwq;
        const item_pool* pool;
    };
    std::vector<place> places;
    places.reserve(most); // no allocation under the lock
    {
        if (!g.lock.try_lock()) return; // as above
        const scoped_lock guard(g.lock, adopt_lock);
        list_moved_locked(g);
        std::size_t left = most;
        for (group_task* t = g.not_started.front(); t != nullptr && left != 0; t = g.not_started.next(*t), --left) {
            // The task is on the list, so its item is pending, or the run that has begun waits for the lock of the
            // group.
            item_pool& pool = g.queue.env.pools.pool(work_access::pool_id(work_access::location_of(*t)));
            const pool_workqueue* const pwq = pool.ledger.inactive_on(*t);
            ++nr_steps_;
            if (pwq == nullptr) continue;
            const bool known = std::ranges::any_of(places, [&](const place& p) { return p.pwq == pwq; });
            if (!known) places.push_back({pwq, &pool});
        }
    }
    for (const place& p : places) groups_[index].limits.push_back({limit_of_locked(g.queue, p.pwq), p.pool});
}

CMWQ_INLINE void deadlock_check::hold_locked(run_record& k, node wait) {
    if (room_.empty()) room_.resize(1);
    for (std::size_t n = 0;; room_.resize(n)) { // allocates without the lock of the pool
        n = k.pool.ledger.held_by(k, room_.data(), room_.size());
        if (n > room_.size()) continue;
        nr_steps_ += n;
        for (std::size_t i = 0; i < n; ++i) {
            held_.push_back(room_[i]);
            held_.back().wait = wait;
        }
        return;
    }
}

CMWQ_INLINE void deadlock_check::await_run_locked(node who, const run_record* k) {
    if (k != nullptr && k->waits != nullptr) for_runs_.emplace_back(who, k->waits->node_);
}

// All pwqs with the same slots share a limit. The pwq may be gone; then the limit has no active item.
CMWQ_INLINE std::size_t deadlock_check::limit_of_locked(const queue_core& q, const pool_workqueue* pwq) {
    if (const auto known = limit_by_pwq_.find(pwq); known != limit_by_pwq_.end()) return known->second;
    const std::size_t index = limits_.size();
    limited l{.queue = q.name, .max_active = q.limits.max_active()};
    const node_slots* slots = nullptr;
    const auto find_slots = [&](const pool_workqueue& p) {
        if (&p == pwq) slots = p.slots;
    };
    const auto add = [&](pool_workqueue& p) {
        if (slots != nullptr ? p.slots != slots : &p != pwq) return;
        const pool_ledger::active_items here = p.ledger->count_active(p);
        l.all += here.all;
        l.frozen |= here.frozen;
        parts_.insert_or_assign(&p, part{index, here.nr_left});
        limit_by_pwq_.insert_or_assign(&p, index);
        ++nr_steps_;
    };
    // Otherwise the queue is being changed, perhaps for long. Without active items the limit counts as ending.
    if (q.pwqs.lock.try_lock()) {
        const scoped_lock guard(q.pwqs.lock, adopt_lock);
        q.pwqs.for_each_locked(find_slots);
        q.pwqs.for_each_locked(add);
    }
    limit_by_pwq_.insert_or_assign(pwq, index);
    limits_.push_back(std::move(l));
    return index;
}

// --- the nodes between waits -----------------------------------------------------------------------------------------

// An item behind a limit becomes active when one of the active items ends. One of them ends, unless all are runs that
// wait and are stuck, or items behind such runs. A limit with no active item at all is in a transient state, and counts
// as ending.
CMWQ_INLINE void deadlock_check::add_limits() {
    for (limited& l : limits_) l.id = stuck_.add_ends_after_all();
    for (const pool_ledger::held_item& h : held_) {
        const auto p = parts_.find(h.pwq);
        if (p == parts_.end()) continue;
        limited& l = limits_[p->second.limit];
        if (h.nr_left == p->second.nr_left && l.all != 0) {
            --l.all;
            stuck_.add_edge(l.id, h.wait);
        } else {
            stuck_.let_end(l.id); // an item has left the pwq since it was read
        }
    }
    for (const limited& l : limits_) {
        if (l.all != 0 || l.frozen) stuck_.let_end(l.id);
    }
    for (const auto& [who, limit] : for_limit_) stuck_.add_edge(who, limits_[limit].id);
}

// Makes a node for each generation of a pwq that has held items. It depends on the waits that hold items of that
// generation, and on the node of the generation before. A wait for the items up to a generation depends on one such
// node. So a thousand flushes of one queue add only a thousand edges.
CMWQ_INLINE void deadlock_check::add_generations() {
    struct generation {
        const pool_workqueue* pwq;
        std::uint64_t number;
        node id;
        [[nodiscard]] bool operator<(const generation& o) const noexcept {
            return std::tuple(reinterpret_cast<std::uintptr_t>(pwq), number) <
                   std::tuple(reinterpret_cast<std::uintptr_t>(o.pwq), o.number);
        }
    };
    std::vector<generation> all;
    all.reserve(held_.size());
    for (const pool_ledger::held_item& h : held_) all.push_back({h.pwq, h.generation, h.wait});
    std::ranges::sort(all, std::less<>());
    std::vector<generation> nodes;
    for (const generation& g : all) {
        if (nodes.empty() || nodes.back() < g) {
            const node id = stuck_.add_ends_after_first();
            if (!nodes.empty() && nodes.back().pwq == g.pwq) stuck_.add_edge(id, nodes.back().id);
            nodes.push_back({g.pwq, g.number, id});
        }
        stuck_.add_edge(nodes.back().id, g.id);
    }
    for (const awaited_items& a : for_items_) {
        const auto behind = std::ranges::upper_bound(nodes, generation{a.pwq, a.generation, 0}, std::less<>());
        if (behind != nodes.begin() && std::prev(behind)->pwq == a.pwq) stuck_.add_edge(a.who, std::prev(behind)->id);
    }
}

CMWQ_INLINE void deadlock_check::add_groups() {
    for (awaited_group& g : groups_) g.id = stuck_.add_ends_after_first();
    for (const auto& [group, run] : runs_tasks_) stuck_.add_edge(groups_[group].id, run);
    for (const auto& [who, group] : for_group_) stuck_.add_edge(who, groups_[group].id);
}

// --- the result ------------------------------------------------------------------------------------------------------

CMWQ_INLINE bool deadlock_check::is_confirmed_locked(const registered_wait& r) const noexcept {
    return r.stuck_since_ != 0 && now_ - r.stuck_since_ >= wait_graph::patience;
}

CMWQ_INLINE std::vector<wait_report> deadlock_check::report_of_locked(const std::vector<node>& members) const {
    constexpr std::size_t enough = 64;
    std::vector<wait_report> told;
    for (const node n : members) {
        if (n >= waits_.size()) continue;
        if (told.size() == enough) {
            ++told.front().nr_more;
            continue;
        }
        told.push_back(wait_graph::report_of_locked(*waits_[n]));
        stuck_.for_each_awaited(n, [&](node m) {
            const auto l = std::ranges::find(limits_, m, &limited::id);
            if (l == limits_.end() || !stuck_.is_stuck(m)) return;
            told.back().full_queue = l->queue;
            told.back().max_active = l->max_active;
        });
    }
    return told;
}

// A wait that leads to a knot is never reported alone.
CMWQ_INLINE void deadlock_check::report_locked(std::vector<std::vector<wait_report>>& to) {
    const auto is_no_wait = [&](node n) { return n >= waits_.size(); };
    for (registered_wait* r : waits_) {
        if (!stuck_.is_stuck(r->node_)) r->stuck_since_ = 0;
        else if (r->stuck_since_ == 0) r->stuck_since_ = now_;
    }
    std::unordered_map<std::size_t, bool> is_told; // by knot
    for (registered_wait* r : waits_) {
        if (r->reported_ || !is_confirmed_locked(*r) || !wait_graph::belongs_to(*r, env_)) continue;
        const std::size_t knot = stuck_.knot_of(r->node_);
        const auto [at, fresh] = is_told.try_emplace(knot, false);
        if (fresh) {
            const std::vector<node>& members = stuck_.members(knot);
            const auto is_confirmed = [&](node n) { return is_no_wait(n) || is_confirmed_locked(*waits_[n]); };
            const auto is_reported = [&](node n) { return is_no_wait(n) || waits_[n]->reported_; };
            at->second = std::ranges::all_of(members, is_confirmed);
            if (at->second && !std::ranges::all_of(members, is_reported)) to.push_back(report_of_locked(members));
            for (const node n : members) {
                if (at->second && !is_no_wait(n)) waits_[n]->reported_ = true;
            }
        }
        if (at->second) r->reported_ = true;
    }
}

// A wait is checked again whenever it has lasted twice as long, because not only a new wait can make it stuck, but also
// a lowered limit, for instance.
CMWQ_INLINE std::int64_t deadlock_check::next_locked() const noexcept {
    std::int64_t next = 0;
    for (const registered_wait* r : waits_) {
        if (r->reported_ || !wait_graph::belongs_to(*r, env_)) continue;
        const std::int64_t age = r->stuck_since_ != 0 ? 0 : now_ - r->since_;
        next = earlier_of(next, now_ + std::max(age, wait_graph::patience));
    }
    return next;
}

CMWQ_INLINE std::int64_t deadlock_check::check_if_due(const pool_env& env) noexcept {
    constexpr std::int64_t pause_for_a_step = 20'000; // nanoseconds; over fifty times the cost of a step
    diagnosis_requests& d = env.diagnosis;
    const std::int64_t due = d.waits_due(), now = steady_now();
    if (due == 0 || now < due) return due;
    std::vector<std::vector<wait_report>> knots;
    std::int64_t next = now + wait_graph::patience;
    {
        wait_graph& g = wait_graph::get();
        const scoped_lock l(g.lock_);
        deadlock_check check(env, now);
        try {
            check.search_locked(g);
            check.report_locked(knots);
            next = check.next_locked();
            // NOLINTNEXTLINE(bugprone-empty-catch): the next check tries again
        } catch (const std::bad_alloc&) {}
        d.no_check_before = steady_now() + pause_for_a_step * static_cast<std::int64_t>(check.nr_steps_);
        if (next != 0) next = std::max(next, d.no_check_before);
        d.set_waits_due(next);
    }
    for (const auto& knot : knots) env.events.deliver(event::kind::deadlock, [&] { return describe_knot(knot); });
    return next;
}

}}} // namespace cmwq::CMWQ_NS::detail
