// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/sentinel.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdio>

namespace cmwq::inline CMWQ_NS::detail {

inline int sentinel::start() noexcept {
    // Until it says otherwise: on a busy CPU it may be long before an idle-class thread says anything.
    works_.store(true, relaxed);
    const int error = rt_.start_thread(thread_, &sentinel::thread_main, this);
    if (error != 0) works_.store(false, relaxed);
    return error;
}

inline void sentinel::stop() noexcept {
    stop_.store(true, release);
    sleep_.unpark();
    thread_.join();
}

inline void sentinel::thread_main(void* self) { static_cast<sentinel*>(self)->watch(); }

inline void sentinel::watch() noexcept {
    thread_attributes a;
    a.cpu = static_cast<int>(slot_.cpu);
    a.sched = sched_class::idle;
    std::snprintf(a.name, sizeof a.name, "cmwq/%u:S", slot_.cpu);
    const thread_refusals refused = apply_to_this_thread(a);
    rt_.report_refusals(refused, a);
    // At normal priority it would compete with the workers and learn nothing; the monitor does its part.
    if (refused.sched != 0 || refused.cpu != 0) {
        works_.store(false, relaxed);
        return;
    }
    while (!stop_.load(acquire)) {
        sleep_.park();
        if (armed_.load(acquire)) guard_cpu();
    }
}

// Runs whenever the CPU has nothing better to do, until nothing is pending there.
inline void sentinel::guard_cpu() noexcept {
    constexpr unsigned nr_pools = nr_priorities;
    // How often it may find the same answer before it naps. A worker that is found running has just been woken, or this
    // is the sliver that the scheduler gives to idle-class threads: giving way costs nothing and keeps the sentinel on
    // its toes. It must not spin on a CPU that idles for another reason.
    constexpr int patience = 16;
    constexpr std::int64_t moment = 100'000, nap_length = 1'000'000;
    int fruitless = 0;
    bool insist[nr_pools] = {};
    while (!stop_.load(acquire)) {
        bool pending = false, no_spare = false, hold = false;
        std::uint64_t completed[nr_pools];
        for (unsigned i = 0; i < nr_pools; ++i) {
            worker_pool& pool = slot_.pools[i];
            completed[i] = pool.nr_completed();
            const finding f = pool.look_for_blocked(detector::sentinel, insist[i]);
            pending |= f != finding::nothing_pending;
            no_spare |= f == finding::no_spare;
            hold |= f == finding::all_blocked;
            insist[i] = f == finding::all_blocked;
        }
        if (!pending) {
            armed_.store(false, seq_cst); // [ARM-2]
            bool missed = false;
            for (worker_pool& pool : slot_.pools) missed |= pool.pending();
            if (!missed || armed_.exchange(true, seq_cst)) return; // or somebody armed it again: there is a permit
        } else if (hold) {
            nap(moment);
            // Not if somebody came back and finished meanwhile: the CPU has not been idle all the time.
            for (unsigned i = 0; i < nr_pools; ++i) insist[i] &= slot_.pools[i].nr_completed() == completed[i];
        } else if (no_spare || ++fruitless > patience) {
            nap(nap_length);
            fruitless = 0;
        } else {
            yield_this_thread();
        }
    }
}

inline void sentinel::nap(std::int64_t nanoseconds) noexcept { sleep_.park_until(steady_now() + nanoseconds); }

} // namespace cmwq::inline CMWQ_NS::detail
