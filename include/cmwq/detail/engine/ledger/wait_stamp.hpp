// SPDX-License-Identifier: BSL-1.0
//
// wait_stamp: when an item was queued, kept in the item until it starts.
#pragma once

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// In units of 1.024 microseconds; 0: the wait of the item is not measured. After 73 minutes it begins again.
using wait_stamp = std::uint32_t;

constexpr wait_stamp stamp_of(std::int64_t now) noexcept {
    const auto s = static_cast<wait_stamp>(now >> 10);
    return s != 0 ? s : 1;
}
/// In nanoseconds.
constexpr std::int64_t time_between(wait_stamp began, wait_stamp ended) noexcept {
    return static_cast<std::int64_t>(static_cast<wait_stamp>(ended - began)) << 10;
}

/// The caller is about to publish `w`. Its wait is measured, unless too many queues are new.
[[gnu::noinline]] inline wait_stamp begin_wait(thread_slots& here, const work_base& w, pool_workqueue& pwq,
                                               sampling_step step) noexcept {
    here.to_mark = next_distance(here.random);
    if (step == observe_all) {
        tell_of_item(w, pwq, &observer::queued);
    } else if (step == measure_first && !take_one(here.first_waits)) {
        pwq.sampling.measure_few_waits();
        return 0;
    } else if (here.random >> 26 == 0) {
        pwq.sampling.measure_fewer_waits(step);
    }
    return stamp_of(steady_now());
}

/// The caller, which owns PENDING, is about to publish the item in a pool of `pwq`. Measures the wait of some items.
CMWQ_HOT_INLINE void assign(work_base& w, pool_workqueue& pwq) noexcept {
    work_access::set_pwq(w, &pwq);
    thread_slots& here = this_thread_slots();
    CMWQ_PROBE(queue_work, &w, work_access::run(w), pwq.queue->name.c_str());
    const sampling_step step = pwq.sampling.of_waits();
    here.to_mark -= step;
    work_access::set_queued_at(w, here.to_mark < 0 ? begin_wait(here, w, pwq, step) : 0);
}

[[gnu::noinline]] inline void add_wait(const pool_workqueue& pwq, wait_stamp queued_at, std::uint64_t n) noexcept {
    pwq.queue->times.waits.add(time_between(queued_at, stamp_of(steady_now())), n);
}

/// An item of `pwq` starts, which has been counted. If its wait is measured, it stands for all items since the last one
/// of that kind. Under L
inline void end_wait_locked(pool_workqueue& pwq, const work_base& w) noexcept {
    const wait_stamp queued_at = work_access::queued_at(w);
    if (queued_at == 0) [[likely]]
        return;
    const std::uint64_t n = pwq.counts.started - pwq.nr_waits_known;
    pwq.nr_waits_known = pwq.counts.started;
    add_wait(pwq, queued_at, n);
}

/// The same without the lock, for an item that has been counted in `self.nr_more_started`.
inline void end_wait(run_record& self, const work_base& w) noexcept {
    const wait_stamp queued_at = work_access::queued_at(w);
    if (queued_at == 0) [[likely]]
        return;
    const std::uint32_t started = self.nr_more_started.load(relaxed);
    add_wait(*self.current_pwq, queued_at, started - self.nr_waits_known);
    self.nr_waits_known = started;
    self.note_counts();
}

}}} // namespace cmwq::CMWQ_NS::detail
