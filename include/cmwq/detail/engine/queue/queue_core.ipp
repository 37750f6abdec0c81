// SPDX-License-Identifier: BSL-1.0
//
// Bodies of queue_core. report() is in report/runtime_report.ipp.

#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/threads/rescue_calls.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE queue_core::queue_core(runtime_core& runtime, const pool_env& e, timer_service& t, const queue_settings& s)
    : queue_face(*this, e, s), rt(runtime), timers(t), prio(s.prio), freezable(s.freezable), exported(s.exported),
      has_attrs(s.attributes != nullptr && !s.power_efficient), front(s.front), routes(*this), limits(*this, pwqs, s),
      changes(*this, pwqs, limits, routes) {}

CMWQ_INLINE queue_core::~queue_core() {
    // destroy_queue() has ended the rescuer before, so this is for a queue whose creation has failed. In a forked
    // child, the rescuer of a queue of the parent has no thread.
    if (!gate.is_dead()) end_rescuer();
    if (on_exception.destroy != nullptr) on_exception.destroy(on_exception.context);
}

CMWQ_INLINE void queue_core::make_rescuer() {
    rescuer_ = std::make_unique<rescuer>(*this);
    own_rescuer = &rescuer_->requests;
}

CMWQ_INLINE void queue_core::end_rescuer() noexcept {
    if (rescuer_ == nullptr) return;
    rescuer_->stop(); // it may still be on its way to a pool, called for items that workers have run since
    pwqs.for_each([](pool_workqueue& p) {
        if (p.rescued_in != nullptr) p.rescued_in->end_rescuable(p);
    });
    own_rescuer = nullptr;
    rescuer_.reset();
}

CMWQ_INLINE backlog_state queue_core::sample_backlog(std::vector<seen_run>& runs, std::int64_t deadline) {
    if (!take_backlog()) return backlog_state::none;
    backlog_state state = backlog_state::unknown;
    try {
        state = look_at_backlog(runs, deadline);
    } catch (...) { // no memory: the next check tries again
        keep_backlog();
        throw;
    }
    if (state != backlog_state::none) keep_backlog();
    return state;
}

CMWQ_INLINE backlog_state queue_core::look_at_backlog(std::vector<seen_run>& runs, std::int64_t deadline) {
    if (!try_lock_until(pwqs.lock, deadline)) return backlog_state::unknown;
    const scoped_lock g(pwqs.lock, adopt_lock);
    std::uint64_t completed = pwqs.freed_locked().completed;
    bool waiting = false, all_run = true, known = true;
    const std::size_t before = runs.size();
    pwqs.for_each_locked([&](pool_workqueue& p) {
        const std::size_t first = runs.size();
        pool_ledger::backlog b;
        for (std::size_t room = 0; known; room = b.runs) { // allocates without the pool lock
            runs.resize(first + room);
            known = p.ledger->try_backlog_of(p, b, runs.data() + first, room, deadline);
            if (b.runs <= room) break;
        }
        runs.resize(first + b.runs);
        waiting |= b.waiting;
        all_run &= b.all_run;
        completed += b.completed;
    });
    const bool same = completed == completed_seen_.get();
    if (known) completed_seen_.set(completed);
    if (known && waiting && all_run && same) return backlog_state::may_stand_still;
    runs.resize(before);
    if (!known) return backlog_state::unknown;
    return waiting ? backlog_state::progresses : backlog_state::none;
}

CMWQ_INLINE std::int64_t queue_core::stuck_for(std::int64_t deadline) const noexcept {
    const std::int64_t time = stuck_for_.get();
    pwq_stats now;
    if (time == 0 || !pwqs.try_stats(now, deadline)) return time;
    return now.inactive != 0 && now.completed == completed_seen_.get() ? time : 0;
}

}}} // namespace cmwq::CMWQ_NS::detail
