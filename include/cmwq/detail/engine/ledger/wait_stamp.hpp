// SPDX-License-Identifier: BSL-1.0
//
// When an item was queued, or became active: kept in the item until it starts.
#pragma once

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/env/tick_clock.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <bit>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The stamp of an item that the limit has kept back for long, and whose wait is measured: its upper bits say when it
/// became active, because its age begins there, and bits 1 to 9 how long it had waited until then, to within 3 %.
namespace kept_stamp {
inline constexpr wait_stamp low_bits = 0x3ff; // so the upper ones have units of a millisecond
inline constexpr wait_stamp least = 2048;     // a shorter time is too short to matter for the age

constexpr wait_stamp make(wait_stamp waited, wait_stamp now) noexcept {
    const auto shift = static_cast<unsigned>(std::bit_width(waited)) - 5; // the upper five bits remain, the first is 1
    const wait_stamp mantissa = waited >> shift & 15;
    return (now & ~low_bits) | (shift << 4 | mantissa) << 1 | exact_bit;
}
/// How long the item had waited when it became active.
constexpr wait_stamp waited(wait_stamp s) noexcept {
    const wait_stamp code = (s & low_bits) >> 1;
    const unsigned shift = code >> 4;
    return (16 + (code & 15)) << shift | 1u << shift >> 1;
}
/// When that was, to within half a millisecond.
constexpr wait_stamp active_since(wait_stamp s) noexcept { return (s & ~low_bits) + low_bits / 2; }
} // namespace kept_stamp

inline bool was_kept_back(const work_base& w) noexcept {
    return (work_access::location_of(w) & location::kept_back) != 0;
}
/// The stamp to compare ages by, of a pending item. Under L, or by the owner of PENDING.
inline wait_stamp age_of(const work_base& w) noexcept {
    const wait_stamp s = work_access::queued_at(w);
    return was_kept_back(w) ? s & ~kept_stamp::low_bits : s;
}
/// How long a measured item has waited, in units of a stamp.
inline wait_stamp time_waited(const work_base& w, wait_stamp now) noexcept {
    const wait_stamp s = work_access::queued_at(w);
    if (!was_kept_back(w)) return now - s;
    const wait_stamp active = now - kept_stamp::active_since(s);
    // Within the millisecond in which it became active, that may seem to be still to come.
    return kept_stamp::waited(s) + (active < -kept_stamp::low_bits ? active : 0);
}
/// The limit of its queue does not keep the item back any longer, nor a run of itself: its age begins now, or, if it
/// has waited for longer than `kept`, that much earlier. Under L
inline void begin_age(work_base& w, const tick_clock& ticks, wait_stamp kept = 0) noexcept {
    if (!is_exact(work_access::queued_at(w))) return work_access::set_queued_at(w, ticks.before(kept));
    const wait_stamp now = exact_stamp(steady_now()), waited = time_waited(w, now);
    if (waited < kept + kept_stamp::least) return;
    work_access::set_queued_at(w, kept_stamp::make(waited - kept, now - kept));
    work_access::set_location(w, work_access::location_of(w) | location::kept_back);
}

/// The caller is about to publish `w`. Returns its stamp. Its wait is measured, unless too many queues are new.
[[gnu::noinline]] inline wait_stamp begin_wait(thread_slots& here, const work_base& w, pool_workqueue& pwq,
                                               sampling_step step) noexcept {
    here.to_mark = next_distance(here.random);
    if (step == observe_all) {
        tell_of_item(w, pwq, &observer::queued);
    } else if (step == measure_first && !take_one(here.first_waits)) {
        pwq.sampling.measure_few_waits();
        return pwq.queue->env.ticks.now();
    } else if (here.random >> 26 == 0) {
        pwq.sampling.measure_fewer_waits(step);
    }
    return exact_stamp(steady_now());
}

/// The caller, which owns PENDING, is about to publish the item in a pool of `pwq`. Measures the wait of some items.
CMWQ_HOT_INLINE void assign(work_base& w, pool_workqueue& pwq) noexcept {
    work_access::set_pwq(w, &pwq);
    thread_slots& here = this_thread_slots();
    CMWQ_PROBE(queue_work, &w, work_access::run(w), pwq.queue->name.c_str());
    const sampling_step step = pwq.sampling.of_waits();
    here.to_mark -= step;
    work_access::set_queued_at(w, here.to_mark < 0 ? begin_wait(here, w, pwq, step) : pwq.queue->env.ticks.now());
}

[[gnu::noinline]] inline void add_wait(const pool_workqueue& pwq, const work_base& w, std::uint64_t n) noexcept {
    pwq.queue->times.waits.add(std::int64_t{time_waited(w, exact_stamp(steady_now()))} << 10, n);
}

/// An item of `pwq` starts, which has been counted. If its wait is measured, it stands for all items since the last one
/// of that kind. Under L
inline void end_wait_locked(pool_workqueue& pwq, const work_base& w) noexcept {
    if (!is_exact(work_access::queued_at(w))) [[likely]]
        return;
    const std::uint64_t n = pwq.counts.started - pwq.nr_waits_known;
    pwq.nr_waits_known = pwq.counts.started;
    add_wait(pwq, w, n);
}

/// The same without the lock, for an item that has been counted in `self.nr_more_started`.
inline void end_wait(run_record& self, const work_base& w) noexcept {
    if (!is_exact(work_access::queued_at(w))) [[likely]]
        return;
    const std::uint64_t started = self.nr_more_started.load(relaxed);
    add_wait(*self.current_pwq, w, started - self.nr_waits_known);
    self.nr_waits_known = started;
    self.note_counts();
}

}}} // namespace cmwq::CMWQ_NS::detail
