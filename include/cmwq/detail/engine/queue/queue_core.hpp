// SPDX-License-Identifier: BSL-1.0
//
// queue_core: the engine's part of a workqueue.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/queue/pwq_list.hpp>
#include <cmwq/detail/engine/queue/queue_changes.hpp>
#include <cmwq/detail/engine/queue/queue_gate.hpp>
#include <cmwq/detail/engine/queue/queue_limits.hpp>
#include <cmwq/detail/engine/queue/queue_report.hpp>
#include <cmwq/detail/engine/queue/queue_routes.hpp>
#include <cmwq/detail/engine/threads/rescuer.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class runtime_core;
class timer_service;
struct queue_tag;

/// The inactive items of a queue, at a look of the diagnosis thread. `none`: there are none. `may_stand_still`: no item
/// has ended since the last look, all active items run, and neither a freeze nor shutdown() keeps the others back.
/// `unknown`: a lock was not free.
enum class backlog_state : unsigned char { none, progresses, may_stand_still, unknown };

/// A queue. Any thread may call every member that does not say otherwise.
///
/// Letters: I set before publication · D the diagnosis thread
class queue_core final : public queue_face, public list_node<queue_tag> {
public:
    /// Throws std::invalid_argument, std::bad_alloc.
    queue_core(runtime_core& runtime, const pool_env& e, timer_service& t, const queue_settings& s);
    ~queue_core();
    queue_core(const queue_core&) = delete;
    queue_core& operator=(const queue_core&) = delete;

    /// The last step of creation: nothing can fail after it, so the queue owns the sink from here on.
    void take_exception_sink(const exception_sink& s) noexcept { on_exception = s; }
    /// For a forked child.
    void mark_dead() noexcept {
        gate.mark_dead();
        if (rescuer_ != nullptr) rescuer_->forget_thread();
    }

    /// Called before the queue is attached. Throws std::system_error, std::bad_alloc.
    void make_rescuer();
    /// Called after the queue has drained: takes the rescuer away from the pools, and ends its thread.
    void end_rescuer() noexcept;

    /// The diagnosis thread calls this. If the queue may stand still, adds its runs to `runs`. Waits for locks until
    /// `deadline`, steady clock. Throws std::bad_alloc.
    [[nodiscard]] backlog_state sample_backlog(std::vector<seen_run>& runs, std::int64_t deadline);
    /// The diagnosis thread calls one of these afterwards, if the state is known; the second one if all of those runs
    /// are blocked. `passed`: the time since the last call. Returns for how long the queue has stood still. Times are
    /// in nanoseconds.
    void note_progress() noexcept { stuck_for_.set(0); }
    [[nodiscard]] std::int64_t note_standstill(std::int64_t passed) noexcept {
        const std::int64_t time = stuck_for_.get() + passed;
        stuck_for_.set(time);
        return time;
    }
    /// For how long the queue had stood still at the last of those calls; 0: it does not any more. It counts as
    /// standing still if that cannot be seen before `deadline`, steady clock, because of other threads' locks.
    [[nodiscard]] std::int64_t stuck_for(std::int64_t deadline) const noexcept;
    /// For dump(), under the lock of the list of queues: copies the state of the queue and of its pwqs, as far as their
    /// locks are free before `deadline`, steady clock. Throws std::bad_alloc.
    [[nodiscard]] queue_report report(std::int64_t deadline) const;

    runtime_core& rt;            // I
    timer_service& timers;       // I
    const priority prio;         // I
    const bool freezable;        // I
    const bool exported;         // I
    const bool has_attrs;        // I: its policy has attributes; a power-efficient queue has none, but may be keyed()
    bool limit_is_fixed = false; // I: true for a system queue
    workqueue_base* const front; // I

    alignas(cache_line) queue_gate gate; // read for each queued item, as the next one is
    queue_routes routes;
    alignas(cache_line) pwq_list pwqs;
    queue_limits limits;
    queue_changes changes;

private:
    [[nodiscard]] backlog_state look_at_backlog(std::vector<seen_run>& runs, std::int64_t deadline)
        CMWQ_EXCLUDES(pwqs.lock);

    statistic<std::uint64_t> completed_seen_; // written by D: items completed at the last check of the backlog
    statistic<std::int64_t> stuck_for_;       // written by D: nanoseconds
    std::unique_ptr<rescuer> rescuer_;        // I: null: the queue has none
};

}}} // namespace cmwq::CMWQ_NS::detail
