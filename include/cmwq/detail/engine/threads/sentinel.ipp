// SPDX-License-Identifier: BSL-1.0
//
// Bodies of sentinel: the list of watched pools, and the loop of the thread.

#include <cmwq/detail/engine/threads/load.hpp>
#include <cmwq/detail/engine/threads/sentinel.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE sentinel::sentinel(const pool_env& env, unsigned cpu)
    : env_(env), cpu_(cpu), cpus_{cpu},
      stage_(env.options.sentinel && env.cpus.binds_threads() ? stage::unused : stage::never) {}

CMWQ_INLINE sentinel::~sentinel() {
    watched* w = watched_.load(relaxed);
    while (w != nullptr) delete std::exchange(w, w->next);
}

CMWQ_INLINE void sentinel::watch(load& pool, near how) {
    watched* w = watched_.load(relaxed);
    while (w != nullptr && w->pool.load(relaxed) != nullptr) w = w->next;
    if (w == nullptr) {
        w = new watched;
        w->next = watched_.load(relaxed);
        watched_.store(w, release); // [WATCH-1] pairs with the acquire loads of the sentinel
    }
    w->how.store(how, relaxed);
    w->pool.store(&pool, release); // [WATCH-1]
}

CMWQ_INLINE void sentinel::stop_watching(load& pool) noexcept {
    // [WATCH-1] Acquire: another thread may add to the list now, under a lock that this caller does not hold.
    for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) {
        if (w->pool.load(relaxed) == &pool) w->pool.store(nullptr, relaxed);
    }
}

CMWQ_INLINE void sentinel::want_thread() noexcept {
    // [ALONE] If this thread is preempted before the wake-up, or the new thread cannot be created: while items are
    // pending, the monitor wakes the manager thread at intervals.
    stage seen = stage::unused;
    if (stage_.compare_exchange_strong(seen, stage::wanted, relaxed, relaxed)) env_.requests.wake_manager();
}

CMWQ_INLINE int sentinel::start_if_wanted() noexcept {
    if (!wanted()) return 0;
    // True until the thread resets it: on a busy CPU an idle-class thread may not run for long.
    works_.store(true, relaxed);
    const int error = env_.threads.start(thread_, &sentinel::thread_main, this);
    if (error == 0) stage_.store(stage::exists, relaxed);
    else works_.store(false, relaxed);
    return error;
}

CMWQ_INLINE void sentinel::request_end() noexcept {
    stop_.store(true, release); // [STOP]
    sleep_.unpark();
}

CMWQ_INLINE void sentinel::thread_main(void* self) { static_cast<sentinel*>(self)->watch_cpu(); }

CMWQ_INLINE void sentinel::watch_cpu() noexcept {
    thread_attributes a{.own = env_.threads.own()};
    binding_ = env_.cpus.binding();
    a.cpus = &cpus_;
    a.sched = sched_class::idle;
    std::snprintf(a.name, sizeof a.name, "cmwq/%u:S", cpu_);
    prepare_for_idle_class();
    const thread_refusals refused = apply_to_this_thread(a);
    if (refused.sched != 0) env_.events.no_sentinel(cpu_, refused.sched);
    else env_.events.thread_refusals_of(refused, a);
    bound_ = refused.cpus == 0;
    works_.store(bound_ && refused.sched == 0, relaxed);
    // At normal priority the sentinel would compete with the workers and could not notice an idle CPU. The monitor
    // takes its place.
    if (refused.sched != 0 || refused.binding_is_forbidden()) return;
    tid_.store(this_thread_id(), release); // [TID-1]
    while (!stop_.load(acquire)) {         // [STOP]
        sleep_.park();
        if (stop_.load(acquire) || !armed_.is_armed()) continue; // [STOP]
        armed_.answer();
        guard_cpu();
        // In the idle class, the thread may get here long after the monitor has gone to sleep. Before that the monitor
        // may have skipped it, because it had just entered the class and `lifted_` was still set.
        if (!lifted_.load(relaxed) && may_leave_.load(relaxed)) env_.requests.arm_monitor();
    }
}

CMWQ_INLINE void sentinel::leave_idle_class() noexcept {
    const long tid = tid_.load(acquire); // [TID-1]
    if (tid == 0 || !may_leave_.load(relaxed) || lifted_.load(relaxed)) return;
    const bool left = detail::leave_idle_class(tid) == 0;
    may_leave_.store(left, relaxed);
    // After the system call: whenever the sentinel is out of the idle class it will see this flag, and it enters the
    // class again if items are pending.
    if (left) lifted_.store(true, relaxed);
}

// Binds the thread again if its CPU has gone and come back. While the CPU is missing, the sentinel watches its pools
// from another CPU, and tries again each time: the CPU may be back before anybody has noticed that it was missing.
CMWQ_INLINE void sentinel::rebind_if_moved() noexcept {
    const unsigned binding = env_.cpus.binding();
    if (binding == binding_ && bound_ && current_cpu() == cpu_) return;
    binding_ = binding;
    const bool was_bound = std::exchange(bound_, bind_this_thread(cpus_) == 0);
    if (bound_ != was_bound) works_.store(bound_ && in_class_, relaxed);
    if (was_bound && !bound_) env_.requests.request_cpu_check();
}

// Checks the pools whenever the CPU runs nothing else, until nothing is pending in them.
CMWQ_INLINE void sentinel::guard_cpu() noexcept {
    // The number of checks with the same result before the sentinel naps. A worker that is found running has just been
    // woken, or the sentinel has run in the small share of a busy CPU that the scheduler gives to idle-class threads.
    // Yielding costs nothing then, and keeps the sentinel ready. But it must not spin on a CPU that is idle for another
    // reason.
    constexpr int patience = 16, chain = 4;
    // A quota may stop the holder of a lock for many milliseconds. Those that wait for the lock are no chain of blocked
    // items: they go on together.
    const int most_doublings = env_.cpus.has_quota() ? 0 : 4;
    constexpr std::int64_t moment = 100'000, shortest_nap = 1'000'000, longest_nap = 16'000'000;
    std::int64_t nap_length = shortest_nap;
    int fruitless = 0;
    while (!stop_.load(acquire)) { // [STOP]
        rebind_if_moved();
        bool pending = false, no_spare = false, hold = false, no_progress = true;
        int nr_running = 0; // in the pools that share the quota
        for (const watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
            const load* pool = w->pool.load(acquire);                                // [WATCH-1]
            if (pool != nullptr && w->how.load(relaxed) != near::own_cpu) nr_running += pool->nr_running();
        }
        for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
            load* pool = w->pool.load(acquire);                                // [WATCH-1]
            if (pool == nullptr) continue;
            // When every item of a chain has blocked and none has ended, each check starts twice as many spares as the
            // one before. Otherwise a chain of n items would need n checks.
            if (w->nr_replaced != 0 && pool->nr_completed() != w->completed) w->nr_replaced = 0;
            const int doublings = std::clamp(w->nr_replaced - chain, 0, most_doublings);
            const finding f =
                pool->check_for_blocked({.who = detector::sentinel, .insist = w->insist, .spares = 1 << doublings});
            if (f == finding::replaced && doublings < most_doublings) ++w->nr_replaced;
            // Read only where it is compared: it may be on the lines of all workers.
            if (f == finding::replaced || f == finding::all_blocked) w->completed = pool->nr_completed();
            pending |= f != finding::nothing_pending;
            no_spare |= f == finding::no_spare;
            hold |= f == finding::all_blocked;
            w->insist = f == finding::all_blocked;
            // The pod is busy, but this CPU, which the pool's workers may use as well, is idle.
            const bool could_help = f == finding::running && w->how.load(relaxed) == near::none;
            w->idle_looks = could_help ? w->idle_looks + 1 : 0;
            if (w->idle_looks > patience) {
                const bool lent = env_.cpus.quota_admits(nr_running) && pool->lend_cpu();
                w->idle_looks = lent ? 0 : patience; // if not lent, tries again at the next check
                if (lent) {
                    no_progress = false;
                    ++nr_running;
                }
            }
            // In a bound pool, a worker that is found running uses this CPU, and may block soon. In other pools it may
            // be on another CPU.
            const bool elsewhere = f == finding::running && w->how.load(relaxed) != near::own_cpu;
            if (f != finding::nothing_pending && f != finding::no_spare && !elsewhere) no_progress = false;
        }
        if (!no_progress) nap_length = shortest_nap;
        if (pending && lifted_.load(relaxed)) {
            in_class_ = enter_idle_class() == 0;
            if (!in_class_) works_.store(false, relaxed); // it is no longer permitted
            lifted_.store(false, relaxed); // after the call, so that the service thread can take it out again
        }
        if (!pending) {
            if (disarm()) return;
        } else if (hold) {
            nap(moment);
            // Resets `insist` if an item of the pool has ended meanwhile: then the CPU has not been idle all the time.
            for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
                load* pool = w->pool.load(acquire);                                // [WATCH-1]
                w->insist &= pool != nullptr && pool->nr_completed() == w->completed;
            }
        } else if (no_spare || ++fruitless > (nap_length == shortest_nap ? patience : 0)) {
            nap(nap_length);
            fruitless = 0;
            // The CPU is idle, but the pools already run as many workers as they may, or no worker can be created. The
            // checks find nothing to do, and their CPU time is charged to the process: so each nap is twice as long as
            // the one before.
            nap_length = std::min(nap_length * 2, longest_nap);
        } else {
            yield_this_thread();
        }
    }
}

// False: items have become pending meanwhile, and the sentinel stays armed.
CMWQ_INLINE bool sentinel::disarm() noexcept {
    const auto any = [this](auto&& predicate) {
        bool found = false;
        for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) {                  // [WATCH-1]
            if (load* pool = w->pool.load(acquire); pool != nullptr) found |= predicate(*pool); // [WATCH-1]
        }
        return found;
    };
    armed_.disarm(); // [ARM-2]
    // [ARM-3] First the sentinel's own flag, then those of its pools. A producer that finds a pool's flag unset after
    // this arms the sentinel again. A producer that finds it set has made its items pending before the check below,
    // which sees them.
    any([](load& pool) { return pool.disarmed(), false; });
    if (!any([](load& pool) { return pool.pending(); })) return true;
    armed_.stay_armed();
    return false;
}

CMWQ_INLINE void sentinel::nap(std::int64_t nanoseconds) noexcept { sleep_.park_until(steady_now() + nanoseconds); }

}}} // namespace cmwq::CMWQ_NS::detail
