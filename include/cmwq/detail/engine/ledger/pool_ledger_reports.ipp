// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger for dump() and the diagnosis thread: groups of pending items, the state of a pwq, and queues
// that stay at their limit.

#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool item_groups::add(const work_base& w) noexcept {
    const work_access::function f = shown_function(w);
    const queue_face* const queue = work_access::pwq(w)->queue;
    const auto same = [&](const item_group& g) { return g.function == f && g.of == queue; };
    if (groups_.empty() || !same(groups_.back())) {
        if (groups_.size() == max_groups) return false;
        groups_.push_back({.function = f, .first = &w, .count = 0, .of = queue, .queue = {}}); // there is room for it
        groups_.back().queue.copy(queue->name);
    }
    ++groups_.back().count;
    return true;
}

CMWQ_INLINE void item_groups::add(item_list& items) noexcept {
    std::size_t n = 0;
    for (work_base* w = items.front(); w != nullptr && n < max_walked && add(*w); w = items.next(*w)) ++n;
    nr_items_ += items.size();
    nr_more_ += items.size() - n;
}

// The newest ones are found first.
CMWQ_INLINE void item_groups::add_arrived(const inbox<work_base, item_tag>& items) noexcept {
    arrived_.clear();
    items.for_each([this](const work_base& w) {
        complete_ = arrived_.size() < max_walked;
        if (complete_) arrived_.push_back(&w); // there is room for it
        return complete_;
    });
    nr_items_ += arrived_.size();
    std::size_t n = 0;
    while (n < arrived_.size() && add(*arrived_[arrived_.size() - 1 - n])) ++n;
    nr_more_ += arrived_.size() - n;
}

CMWQ_INLINE void pool_ledger::list_pending_locked(item_groups& to) noexcept {
    to.add(worklist_);
    to.add_arrived(inbox_);
}

CMWQ_INLINE void pool_ledger::report(pool_workqueue& pwq, pwq_report& to, std::int64_t deadline) {
    to.inactive.reserve();
    if (!try_lock_until(lock, deadline)) {
        to.locked = true;
        return;
    }
    const scoped_lock g(lock, adopt_lock);
    to.nr_active = pwq.nr_active;
    to.nr_waiting = pwq.nr_waiting;
    to.frozen = pwq.frozen;
    to.plugged = pwq.plugged;
    to.mayday = pwq.mayday;
    to.detached = pwq.detached.load(relaxed);
    to.counts = stats_of_locked(pwq);
    to.inactive.add(pwq.inactive);
}

// An item that waits behind another one of its ordered queue may be in the inbox until that one has ended [NEXT-1]. The
// local items of workers are not looked at. If the limit keeps one of them back, the worker that took it from its list
// has put it on the inactive list. What a freeze or shutdown() keeps back counts as waiting: when it is over, the limit
// may keep the items back, and nothing would ask for a check of them again. A plugged pwq stands still with the run
// before it.
CMWQ_INLINE bool pool_ledger::try_backlog_of(const pool_workqueue& pwq, backlog& state, seen_run* to, std::size_t room,
                                             std::int64_t deadline) noexcept {
    if (!try_lock_until(lock, deadline)) return false;
    deferred d;
    const scoped_lock g(lock, adopt_lock);
    drain_locked(d);
    owner.notify_locked(d);
    state = {.waiting = !pwq.inactive.empty(),
             .all_run = pwq.nr_waiting == 0 && !pwq.frozen && !pwq.held_back,
             .runs = 0,
             .completed = stats_of_locked(pwq).completed};
    if (!state.all_run) return true;
    for_each_record_locked([&](run_record& w) {
        if (w.current_pwq != &pwq) return true;
        if (state.runs < room) to[state.runs] = {&w, w.of_thread, &pwq, w.nr_runs.load(relaxed)};
        ++state.runs;
        return true;
    });
    return true;
}

CMWQ_INLINE pool_ledger::run_state pool_ledger::state_of(const seen_run& r, std::int64_t deadline) const noexcept {
    if (!try_lock_until(lock, deadline)) return run_state::unknown;
    const scoped_lock g(lock, adopt_lock);
    const bool same = r.by->current_pwq == r.pwq && r.by->nr_runs.load(relaxed) == r.number;
    return same ? run_state::goes_on : run_state::has_ended;
}

}}} // namespace cmwq::CMWQ_NS::detail
