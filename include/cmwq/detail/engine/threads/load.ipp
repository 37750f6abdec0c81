// SPDX-License-Identifier: BSL-1.0
//
// Bodies of load.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/load.hpp>
#include <cmwq/detail/sync/clock.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE load::load(pool_ledger& ledger, spare_workers& spares, const busy_workers<worker>& working,
                       local_lists* locals)
    : ledger_(ledger), spares_(spares), working_(working), locals_(locals),
      near_(std::make_unique<atomic<std::uint64_t>[]>(ledger.env.cpus.nr_cpus() / 64 + 1)),
      far_(std::make_unique<atomic<std::uint64_t>[]>(ledger.env.cpus.nr_cpus() / 64 + 1)) {}

CMWQ_INLINE load::watching_cpus load::watching(const pool_spec& spec, const cpuset& all) const {
    cpuset near;
    for (const unsigned index : all) {
        if (spec.pod.contains(ledger_.env.cpus.number_of(index))) near.insert(index);
    }
    if (near.empty()) near = all;
    return {near, all - near};
}

CMWQ_INLINE void load::configure_locked(const pool_spec& spec, const watching_cpus& cpus) noexcept {
    width_.store(spec.width, relaxed);
    max_running_.store(ledger_.env.cpus.width_of(spec.cpus), relaxed);
    limit_.store(spec.width, relaxed);
    for (unsigned i = 0; i < ledger_.env.cpus.nr_cpus(); i += 64) {
        std::uint64_t words[2] = {};
        for (unsigned bit = 0; bit < 64; ++bit) {
            if (cpus.near.contains(i + bit)) words[0] |= std::uint64_t{1} << bit;
            if (cpus.far.contains(i + bit)) words[1] |= std::uint64_t{1} << bit;
        }
        near_[i / 64].store(words[0], relaxed);
        far_[i / 64].store(words[1], relaxed);
    }
}

// --- counting --------------------------------------------------------------------------------------------------------

CMWQ_INLINE void load::count(worker& self) noexcept {
    if (self.record != worker::record_of::worker) return;
    if (self.counted.load(relaxed)) return; // other threads only clear it
    // Also without its CPU, so that the count is right when the CPU is back.
    nr_running_.fetch_add(1, seq_cst); // [COUNT-1] before the flag: no thread counts down what was not counted up
    self.counted.store(true, release); // [COUNT-1]
}

// [COUNT-1] The thread that resets the flag counts down. [IDLE-2] It must then check whether items are pending.
CMWQ_INLINE bool load::uncount(worker& w) noexcept {
    if (!w.counted.load(acquire) || !w.counted.exchange(false, seq_cst)) return false;
    nr_running_.fetch_sub(1, seq_cst);
    if (locals_ != nullptr) locals_->uncounted(w);
    return true;
}

CMWQ_INLINE void load::begin_run_locked(worker& self) noexcept {
    if (nr_overdue_may_start_ != 0 && !self.is_guest()) --nr_overdue_may_start_;
    self.cpu_intensive = self.current_pwq->queue->cpu_intensive;
    if (self.cpu_intensive) uncount(self);
}

CMWQ_INLINE void load::end_run_locked(worker& self) noexcept {
    count(self);                                                                   // even if it was uncounted
    if (nr_overdue_may_start_ != 0 && !self.is_guest()) nr_overdue_may_start_ = 0; // producers read this cache line
}

CMWQ_INLINE void load::begin_idle_locked(worker& self) noexcept { self.idle_began = steady_now(); }

CMWQ_INLINE void load::wake_a_worker() noexcept {
    // [IDLE-1] The producer has pushed, then it reads nr_running_; pairs [IDLE-2], where a worker counts itself down
    // and then reads the inbox. All four are seq_cst: at least one of the two threads sees the other's write.
    const int most = width(), running = nr_running_.load(seq_cst); // [IDLE-1]
    if (is_associated() && (running >= most || !spare_is_urgent(nr_active(), most)))
        detectors_needed(); // the item waits behind running workers, which may block, or behind many blocked ones
    else spares_.remind();
}

// --- detectors -------------------------------------------------------------------------------------------------------

CMWQ_INLINE void load::detectors_needed() noexcept {
    if (!is_associated()) return; // no detector is needed: every item gets a worker
    if (armed_.is_answered()) [[likely]]
        return ledger_.env.requests.arm_monitor();
    arm_detectors();
}

// Not inline: without this, detectors_needed() needs no stack frame; producers call that for each item.
[[gnu::noinline]] CMWQ_INLINE void load::arm_detectors() noexcept {
    // [ARM-3] As [ARM-1], for all sentinels of the pod at once. The sentinels of other CPUs can only help, and may be
    // many; the caller may be a producer, so it does not arm them.
    if (const arming::ticket t = armed_.arm(); t != arming::none) {
        for_each(near_, [this](unsigned index) { ledger_.env.finder->arm_sentinel(index); });
        armed_.answer(t);
    }
    ledger_.env.requests.arm_monitor();
}

CMWQ_INLINE void load::arm_far_sentinels() const noexcept {
    for_each(far_, [this](unsigned index) { ledger_.env.finder->arm_sentinel(index); });
}

// Whether a sentinel of the pod watches the pool.
CMWQ_INLINE bool load::sentinel_works() const noexcept {
    bool works = false;
    for_each(near_, [&](unsigned index) { works |= ledger_.env.finder->sentinel_works(index); });
    return works;
}

CMWQ_INLINE void load::raise_limit(int to) noexcept {
    int seen = limit();
    while (seen < to && !change_limit(seen, to)) {}
}

// A CPU is idle although items are pending: raises the limit to at least `n` more workers than are active.
CMWQ_INLINE bool load::start_spares(int n) noexcept {
    raise_limit(nr_active() + n);
    if (!spares_.wake()) return false;
    spare_wakeups_.fetch_add(1, relaxed);
    return true;
}

CMWQ_INLINE void load::note_blocked(worker& w, detector who) noexcept {
    const bool by_sentinel = who == detector::sentinel;
    const block_reason why = by_sentinel ? block_reason::sentinel : block_reason::monitor;
    CMWQ_PROBE(block, w.current.load(relaxed), w.function.load(relaxed), why);
    if (ledger_.env.observing.any()) w.noticed.note(steady_now(), why);
    (by_sentinel ? by_sentinel_ : by_monitor_).fetch_add(1, relaxed);
    w.count_block(by_sentinel ? block_event::sentinel : block_event::monitor);
}

CMWQ_INLINE finding load::check_for_blocked(blocked_check c) noexcept {
    if (!pending()) return finding::nothing_pending;
    worker* blocked = nullptr; // of those found now
    if (is_associated()) {
        const int most = width();
        int running = 0;
        working_.for_each([&](worker& w) {
            if (!w.counted.load(acquire)) return true; // [HINT]
            // A worker that waits for the lock of the pool will run in a moment. Only a hint, so the load of
            // `finishing` is relaxed; it comes after the probe.
            if (!w.probe.blocked() || w.finishing.load(relaxed)) return ++running < most;
            if (!uncount(w)) return true;
            note_blocked(w, c.who);
            blocked = &w;
            return true;
        });
        // [UNIFORM] Enough workers run, or a worker has just started.
        if (running >= most || nr_running_.load(seq_cst) >= most) return finding::running;
        if (!c.insist && !spare_is_urgent(nr_active(), most)) return finding::all_blocked;
    }
    if (!start_spares(c.spares)) return finding::no_spare;
    if (blocked != nullptr) blocked->count_block(block_event::spare);
    return finding::replaced;
}

CMWQ_INLINE bool load::lend_cpu() noexcept {
    if (nr_running() >= max_running_.load(relaxed)) return false;
    start_spares(1);
    return true;
}

// --- blocking regions, and waits inside the library ------------------------------------------------------------------

CMWQ_INLINE void load::block_begins(worker& w) noexcept {
    if (!uncount(w)) return;
    if (!is_associated() || nr_running_.load(seq_cst) >= width() || !pending()) return; // [IDLE-2]
    by_guard_.fetch_add(1, relaxed);
    w.count_block(block_event::guard);
    if (!spare_is_urgent(nr_active(), width()) && sentinel_works())
        detectors_needed(); // the sentinel checks whether the CPU stays idle
    else if (start_spares(1)) w.count_block(block_event::spare);
}

CMWQ_INLINE void load::block_ends(worker& self) noexcept {
    if (!self.cpu_intensive) count(self);
}

// The worker waits for other items, so it is no reason to expect that a blocked worker will be back soon. And that time
// must not count as blocking in an item, like the time that lock_after_run() waits.
CMWQ_INLINE void load::wait_begins(worker& self) noexcept {
    self.wait_began = steady_now();
    self.in_wait.store(true, relaxed);
    nr_waiting_.fetch_add(1, relaxed); // before the worker is counted down: who sees that sees this as well
    block_begins(self);
}

CMWQ_INLINE void load::wait_ends(worker& self) noexcept {
    self.exclude(steady_now() - self.wait_began);
    nr_waiting_.fetch_sub(1, relaxed);
    self.in_wait.store(false, release);    // [WAIT-2] after the time was excluded
    if (self.depth == 0) block_ends(self); // otherwise a blocking_region goes on
}

}}} // namespace cmwq::CMWQ_NS::detail
