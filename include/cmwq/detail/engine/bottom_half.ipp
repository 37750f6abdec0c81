// SPDX-License-Identifier: BSL-1.0
//
// worker_pool, fourth part: bottom halves.
//
// Whatever is pending in a bottom-half pool, somebody has to see to it: the one who drains the pool, or, as long as
// nobody does, the producer who is about to try, the thread that holds it back by a guard, or the bottom-half thread,
// which has been kicked. Who only looks at the pool, to flush or to cancel, owes nothing.
#pragma once

#include <cmwq/detail/engine/bottom_half.hpp>
#include <cmwq/detail/engine/diagnosis.hpp>
#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE bool bh_budget::go_on() noexcept {
    if (limit_ == limit::turn) return !over_;
    const std::int64_t now = steady_now();
    if (end_ == 0) end_ = now + max_time;
    if (now >= end_) over_ = true;
    return !over_;
}

// --- the pool ---------------------------------------------------------------------------------------------------------

CMWQ_INLINE void worker_pool::become_bottom_half(bh_thread& thread, worker_pool* first) {
    configure({.cpus = cpuset{number_}, .pod = cpuset{number_}}, {});
    const scoped_lock g(lock_);
    bh_thread_ = &thread;
    goes_first_ = first;
    auto* pseudo = new worker(*this, nr_records_++); // whoever drains is this one meanwhile
    all_.store(pseudo, release);                     // [REC-1]
    busy_.push_back(*pseudo);                        // for good: that is where runs are looked for
}

CMWQ_INLINE void worker_pool::kick_bottom_half() noexcept {
    if (!draining_.load(seq_cst)) bh_thread_->kick(); // [BH-1]
    else rt_.arm_monitor();                           // who drains sees it, if it ever gets there
}

CMWQ_INLINE void forget_raised(thread_slots& slots, std::uint64_t id) noexcept {
    for (unsigned i = 0; i < slots.nr_raised; ++i) {
        if (slots.raised[i] != id) continue;
        --slots.nr_raised;
        for (; i < slots.nr_raised; ++i) slots.raised[i] = slots.raised[i + 1];
    }
}

CMWQ_INLINE void worker_pool::run_bottom_half(bh_budget& budget) noexcept {
    thread_slots& slots = this_thread_slots();
    const std::uint64_t id = id_;
    // [BH-1] pushed, then the look whether somebody drains; pairs [BH-2], who gives that up and then looks at the inbox.
    // All seq_cst: one of the two sees the other.
    if (!draining_.load(seq_cst)) {
        deferred d;
        const scoped_lock g(lock_);
        if (!draining_.load(relaxed)) { // becomes true under the lock only
            draining_.store(true, relaxed);
            worker& self = *all_.load(relaxed);
            blocking_observer* const observer = std::exchange(slots.observer, &self);
            self.beneath = std::exchange(slots.current_worker, &self);
            drain_bottom_half_locked(self, budget, d);
            slots.observer = observer;
            slots.current_worker = self.beneath;
        }
    } else {
        rt_.arm_monitor(); // who drains sees it, if it ever gets there
    }
    forget_raised(slots, id); // all that this thread has pushed is done, or another one sees to it
}

// Gives `draining_` back under the lock, together with the look behind it: others take from the inbox only under the
// lock, so what the look does not find there was on the worklist before.
CMWQ_INLINE void worker_pool::drain_bottom_half_locked(worker& self, bh_budget& budget, deferred& d) noexcept {
    std::size_t round = 0;
    for (;;) {
        if (goes_first_ != nullptr && goes_first_->pending()) {
            lock_.unlock();
            bh_budget turn(bh_budget::limit::turn);
            goes_first_->run_bottom_half(budget.takes_turns() ? turn : budget);
            lock_.lock();
            if (round != 0 && !budget.go_on()) break;
        }
        if (round == 0) {
            drain_locked(d);
            round = worklist_.size();
            if (round == 0) {
                draining_.store(false, seq_cst); // [BH-2]
                if (inbox_.empty()) return;
                draining_.store(true, relaxed);
                continue;
            }
            if (!budget.begin_round()) break;
        }
        work_base* const w = take_locked(self);
        if (w == nullptr) { // cancelled
            round = 0;
            continue;
        }
        --round;
        run_locked(self, *w, d);
        if ((!worklist_.empty() || !inbox_.empty()) && !budget.go_on()) break;
    }
    draining_.store(false, seq_cst); // [BH-2]
    bh_thread_->kick();              // after the store, or it might find somebody draining, and go back to sleep
}

// --- the calling thread -----------------------------------------------------------------------------------------------

/// The worker whose item the calling thread runs, if that is a bottom half.
CMWQ_INLINE const worker* bottom_half_here() noexcept {
    const worker* const self = this_thread_slots().current_worker;
    return self != nullptr && self->pool.role() == pool_role::bottom_half ? self : nullptr;
}

// What waits is refused in every bottom half, also if it would find nothing to wait for just now. `of()` makes the rest
// of the message.
template <class Of>
void refuse_in_bottom_half(const char* what, const Of& of) {
    if (bottom_half_here() == nullptr) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("cmwq: ") + what + of() + " in " + describe_own_run() +
                                ", a bottom half, which must not wait");
}

CMWQ_INLINE void refuse_in_bottom_half(const char* what) {
    refuse_in_bottom_half(what, [] { return std::string(); });
}

CMWQ_INLINE void run_raised(thread_slots& slots, bh_budget& budget) noexcept {
    while (slots.nr_raised != 0) {
        const std::uint64_t id = slots.raised[0];
        forget_raised(slots, id);
        const directory::pin at(id);
        if (at.runtime != nullptr) at.runtime->pool(id).run_bottom_half(budget);
    }
}

CMWQ_INLINE void run_bottom_halves(worker_pool& pool, bh_budget::limit l) noexcept {
    thread_slots& slots = this_thread_slots();
    bh_budget budget(l);
    ++slots.bh_depth;
    pool.run_bottom_half(budget);
    run_raised(slots, budget);
    --slots.bh_depth;
}

CMWQ_INLINE void raise_bottom_half(worker_pool& pool) noexcept {
    thread_slots& slots = this_thread_slots();
    if (slots.bh_depth == 0) {
        run_bottom_halves(pool, bh_budget::limit::softirq);
        return;
    }
    const std::uint64_t id = pool.id();
    for (unsigned i = 0; i < slots.nr_raised; ++i) {
        if (slots.raised[i] == id) return;
    }
    if (slots.nr_raised < thread_slots::max_raised) slots.raised[slots.nr_raised++] = id;
    else pool.kick_bottom_half();
}

CMWQ_INLINE void hand_over_bottom_halves() noexcept {
    thread_slots& slots = this_thread_slots();
    while (slots.nr_raised != 0) {
        const std::uint64_t id = slots.raised[--slots.nr_raised];
        const directory::look at(id);
        if (at.runtime != nullptr) at.runtime->pool(id).kick_bottom_half();
    }
}

[[noreturn]] CMWQ_INLINE void bottom_half_blocks(const queue_core& q) noexcept {
    std::fprintf(stderr,
                 "cmwq: an item of the bottom-half queue \"%s\" blocks: it announces that by a blocking_region\n",
                 q.name.c_str());
    std::terminate();
}

// --- the thread of a CPU ----------------------------------------------------------------------------------------------

CMWQ_INLINE void bh_thread::kick() noexcept {
    sleep_.unpark();                   // a permit, also for a thread that does not exist yet
    if (exists_.load(acquire)) return; // [ALONE]
    // [ALONE] Each asks: the first one may have been stopped before it notified the staff thread.
    if (!wanted_.load(seq_cst)) wanted_.store(true, seq_cst);
    rt_.request_staff();
}

CMWQ_INLINE int bh_thread::start_if_wanted() noexcept {
    if (!wanted()) return 0;
    if (!thread_.joinable()) {
        if (const int error = rt_.start_thread(thread_, &bh_thread::thread_main, this); error != 0) return error;
        rt_.thread_started();
        exists_.store(true, release); // [ALONE]
    }
    wanted_.store(false, relaxed);
    return 0;
}

CMWQ_INLINE void bh_thread::tell_to_end() noexcept {
    stop_.store(true, release); // [STOP]
    sleep_.unpark();
}

CMWQ_INLINE void bh_thread::join() noexcept {
    if (!thread_.joinable()) return;
    thread_.join();
    rt_.thread_ended();
}

CMWQ_INLINE void bh_thread::thread_main(void* self) { static_cast<bh_thread*>(self)->serve(); }

CMWQ_INLINE void bh_thread::serve() noexcept {
    thread_attributes a{.own = rt_.own()};
    unsigned binding = rt_.binding();
    if (rt_.binds_threads()) a.cpus = &cpus_;
    std::snprintf(a.name, sizeof a.name, "cmwq/%u:B", cpu_);
    rt_.report_refusals(apply_to_this_thread(a), a);
    while (!stop_.load(acquire)) { // [STOP]
        sleep_.park();
        // Its CPU may have gone, and come back.
        if (rt_.binds_threads() && (current_cpu() != cpu_ || binding != rt_.binding())) {
            binding = rt_.binding();
            static_cast<void>(bind_this_thread(cpus_));
        }
        // One round of each in turn. A drain that leaves something behind kicks this thread: the permit leads to the
        // next ones.
        run_bottom_halves(high_, bh_budget::limit::turn);
        run_bottom_halves(normal_, bh_budget::limit::turn);
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
