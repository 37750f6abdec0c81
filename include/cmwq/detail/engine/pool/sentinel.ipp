// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/pool/managed_workers.hpp>
#include <cmwq/detail/engine/pool/sentinel.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE sentinel::~sentinel() {
    watched* w = watched_.load(relaxed);
    while (w != nullptr) delete std::exchange(w, w->next);
}

CMWQ_INLINE void sentinel::watch(managed_workers& pool, bool in_pod) {
    watched* w = watched_.load(relaxed);
    while (w != nullptr && w->pool.load(relaxed) != nullptr) w = w->next;
    if (w == nullptr) {
        w = new watched;
        w->next = watched_.load(relaxed);
        watched_.store(w, release); // [WATCH-1] pairs the acquire of the sentinel
    }
    w->in_pod.store(in_pod, relaxed);
    w->pool.store(&pool, release); // [WATCH-1]
}

CMWQ_INLINE void sentinel::stop_watching(managed_workers& pool) noexcept {
    // [WATCH-1] Acquire: others add to the list just now, under a lock that this caller does not hold.
    for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) {
        if (w->pool.load(relaxed) == &pool) w->pool.store(nullptr, relaxed);
    }
}

CMWQ_INLINE int sentinel::start() noexcept {
    // Until it says otherwise: on a busy CPU it may be long before an idle-class thread says anything.
    works_.store(true, relaxed);
    const int error = env_.threads.start(thread_, &sentinel::thread_main, this);
    if (error != 0) works_.store(false, relaxed);
    return error;
}

CMWQ_INLINE void sentinel::tell_to_end() noexcept {
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
    // At normal priority it would compete with the workers and learn nothing; the monitor does its part.
    if (refused.sched != 0 || refused.cpus != 0) {
        works_.store(false, relaxed);
        return;
    }
    tid_.store(this_thread_id(), release); // [TID-1]
    while (!stop_.load(acquire)) {         // [STOP]
        sleep_.park();
        if (stop_.load(acquire) || !armed_.is_armed()) continue; // [STOP]
        armed_.answer();
        guard_cpu();
    }
}

CMWQ_INLINE void sentinel::leave_idle_class() noexcept {
    const long tid = tid_.load(acquire); // [TID-1]
    if (tid == 0 || !may_leave_ || lifted_.load(relaxed)) return;
    may_leave_ = detail::leave_idle_class(tid) == 0;
    // After it: whenever it is out of that class, it gets to see this, and goes back if it is needed.
    if (may_leave_) lifted_.store(true, relaxed);
}

// Its CPU may have gone and come back: it watches that one. While there is none it looks after its pools from another.
CMWQ_INLINE void sentinel::rebind_if_moved() noexcept {
    const unsigned binding = env_.cpus.binding();
    if (binding == binding_ && (current_cpu() == cpu_ || !works())) return;
    binding_ = binding;
    works_.store(bind_this_thread(cpus_) == 0, relaxed);
}

// Runs whenever the CPU has nothing better to do, until nothing is pending there.
CMWQ_INLINE void sentinel::guard_cpu() noexcept {
    // How often it may find the same answer before it naps. A worker that is found running has just been woken, or this
    // is the sliver that the scheduler gives to idle-class threads: giving way costs nothing and keeps the sentinel on
    // its toes. It must not spin on a CPU that idles for another reason.
    constexpr int patience = 16;
    constexpr std::int64_t moment = 100'000, shortest_nap = 1'000'000, longest_nap = 16'000'000;
    std::int64_t nap_length = shortest_nap;
    int fruitless = 0;
    while (!stop_.load(acquire)) { // [STOP]
        rebind_if_moved();
        bool pending = false, no_spare = false, hold = false, in_vain = true;
        int nr_running = 0;                                                          // in the pools that share a quota
        for (const watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
            const managed_workers* pool = w->pool.load(acquire);                     // [WATCH-1]
            if (pool != nullptr && !pool->is_per_cpu()) nr_running += pool->nr_running();
        }
        for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
            managed_workers* pool = w->pool.load(acquire);                     // [WATCH-1]
            if (pool == nullptr) continue;
            w->completed = pool->nr_completed();
            const finding f = pool->look_for_blocked(detector::sentinel, w->insist);
            pending |= f != finding::nothing_pending;
            no_spare |= f == finding::no_spare;
            hold |= f == finding::all_blocked;
            w->insist = f == finding::all_blocked;
            // The pod is busy, and this CPU, which its workers may use as well, is not.
            const bool could_help = f == finding::running && !w->in_pod.load(relaxed);
            w->idle_looks = could_help ? w->idle_looks + 1 : 0;
            if (w->idle_looks > patience) {
                const bool lent = env_.cpus.quota_admits(nr_running) && pool->lend_cpu();
                w->idle_looks = lent ? 0 : patience; // otherwise as soon as it may
                if (lent) {
                    in_vain = false;
                    ++nr_running;
                }
            }
            // A worker of a bound pool that is found running is about to leave this CPU; those of others may be anywhere.
            const bool elsewhere = f == finding::running && !pool->is_per_cpu();
            if (f != finding::nothing_pending && f != finding::no_spare && !elsewhere) in_vain = false;
        }
        if (!in_vain) nap_length = shortest_nap;
        if (pending && lifted_.load(relaxed)) {
            if (enter_idle_class() != 0) works_.store(false, relaxed); // somebody has forbidden it meanwhile
            lifted_.store(false, relaxed); // after it, so that the service thread can lift it again
        }
        if (!pending) {
            if (disarm()) return;
        } else if (hold) {
            nap(moment);
            // Not if somebody came back and finished meanwhile: the CPU has not been idle all the time.
            for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) { // [WATCH-1]
                managed_workers* pool = w->pool.load(acquire);                     // [WATCH-1]
                w->insist &= pool != nullptr && pool->nr_completed() == w->completed;
            }
        } else if (no_spare || ++fruitless > (nap_length == shortest_nap ? patience : 0)) {
            nap(nap_length);
            fruitless = 0;
            // An idle CPU beside pools in which as many run as may, or for which no worker can be made: looking is all that it
            // does, and is charged for.
            nap_length = std::min(nap_length * 2, longest_nap);
        } else {
            yield_this_thread();
        }
    }
}

// False: something has been made pending meanwhile.
CMWQ_INLINE bool sentinel::disarm() noexcept {
    const auto any = [this](auto&& predicate) {
        bool found = false;
        for (watched* w = watched_.load(acquire); w != nullptr; w = w->next) {                             // [WATCH-1]
            if (managed_workers* pool = w->pool.load(acquire); pool != nullptr) found |= predicate(*pool); // [WATCH-1]
        }
        return found;
    };
    armed_.disarm(); // [ARM-2]
    // [ARM-3] Its own flag first: whoever finds a pool's flag unset after this arms this sentinel again; who finds it
    // set has made pending before what is seen below.
    any([](managed_workers& pool) { return pool.disarmed(), false; });
    if (!any([](managed_workers& pool) { return pool.pending(); })) return true;
    armed_.stay_armed();
    return false;
}

CMWQ_INLINE void sentinel::nap(std::int64_t nanoseconds) noexcept { sleep_.park_until(steady_now() + nanoseconds); }

} // namespace cmwq::inline CMWQ_NS::detail
