// SPDX-License-Identifier: BSL-1.0
//
// A pool with local lists and no threads: a test calls its parts as the workers would.
#pragma once

#include "bare_pool.hpp"

#include <cmwq/detail/engine/threads/local_lists.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace cmwq_test {

/// Two workers in their loop, a guest that runs tasks, and a queue.
class lists_machine {
    bare_env env_;
    std::int64_t now_ = 1'024'000; // steady clock
    cmwq::detail::busy_workers<cmwq::detail::worker> working_;
    cmwq::detail::spare_workers spares_{env_.get()};

public:
    explicit lists_machine(unsigned max_active = 100) : queue_(env_, pool, max_active) {
        env_.ticks.begin(now_);
        if (!working_.reserve(4)) std::abort();
        for (cmwq::detail::worker* w : {&a, &b, &guest}) {
            const cmwq::detail::scoped_lock g(ledger.lock);
            ledger.become_busy_locked(*w);
            lists.begin_work_locked(ledger, *w);
            working_.add(*w);
            w->counted.store(!w->is_guest(), cmwq::detail::relaxed);
        }
    }
    ~lists_machine() {
        for (cmwq::detail::worker* w : {&a, &b, &guest}) {
            const cmwq::detail::scoped_lock g(ledger.lock);
            ledger.leave_busy_locked(*w);
            lists.end_work_locked(ledger, *w);
            working_.remove(*w);
        }
    }
    lists_machine(const lists_machine&) = delete;
    lists_machine& operator=(const lists_machine&) = delete;

    /// From outside.
    void queue(cmwq::work_base& w) { queue(w, pwq); }
    void queue(cmwq::work_base& w, cmwq::detail::pool_workqueue& in) {
        cmwq::detail::work_access::set_queued_at(w, env_.ticks.now());
        if (!pool.push(w, in)) std::abort();
    }
    /// From the item that the worker runs.
    void queue_by(cmwq::detail::worker& by, cmwq::work_base& w) { queue_by(by, w, pwq); }
    void queue_by(cmwq::detail::worker& by, cmwq::work_base& w, cmwq::detail::pool_workqueue& in) {
        if (cmwq::detail::work_access::claim(w) != cmwq::detail::claim_result::claimed) std::abort();
        cmwq::detail::work_access::set_pwq(w, &in);
        cmwq::detail::work_access::set_queued_at(w, env_.ticks.now());
        lists.push(ledger, by, w);
    }
    /// The worker begins its next run. Null: there is no item for it.
    cmwq::work_base* start(cmwq::detail::worker& by) {
        cmwq::detail::deferred d;
        const cmwq::detail::scoped_lock g(ledger.lock);
        ledger.drain_locked(d);
        cmwq::work_base* const w = lists.take_locked(ledger, by);
        if (w == nullptr) return nullptr;
        static_cast<void>(ledger.begin_run_locked(by, *w));
        lists.begin_run_locked(ledger, by);
        return w;
    }
    void end(cmwq::detail::worker& by) {
        cmwq::detail::deferred d;
        const cmwq::detail::scoped_lock g(ledger.lock);
        ledger.end_run_locked(by, d);
        lists.end_run_locked(ledger, by);
    }
    /// The service thread looks for old items, so many times, after each time of that length. An item is old after
    /// eight milliseconds.
    void tick(int n = 1, int milliseconds = 4) {
        for (; n > 0; --n) {
            env_.ticks.tick(now_ += milliseconds * std::int64_t{1'024'000});
            const cmwq::detail::scoped_lock g(ledger.lock);
            lists.look_for_old_locked(ledger);
        }
    }
    /// The service thread sleeps for that many minutes.
    void sleep(int minutes) { env_.ticks.begin(now_ += minutes * std::int64_t{60'000'000'000}); }
    std::vector<cmwq::work_base*> run_all(cmwq::detail::worker& by) {
        std::vector<cmwq::work_base*> order;
        while (cmwq::work_base* const w = start(by)) {
            order.push_back(w);
            end(by);
        }
        return order;
    }

    [[nodiscard]] const bare_env& environment() const { return env_; }

    cmwq::detail::local_lists lists{working_, spares_};
    bare_pool pool{env_, 7, &lists};
    cmwq::detail::pool_ledger& ledger = pool.ledger;
    bare_queue_in<cmwq::elastic> queue_;
    cmwq::detail::pool_workqueue& pwq = queue_.pwq;
    cmwq::detail::worker &a = pool.add_worker(), &b = pool.add_worker();
    cmwq::detail::worker& guest = pool.add_worker(cmwq::detail::worker::record_of::guest);
};

} // namespace cmwq_test
