// SPDX-License-Identifier: BSL-1.0
//
// The parts of a runtime without a runtime: what pools use of it, a pool without threads, and the pools' view of a
// queue. A test of a part makes these, and calls the part itself as a producer, a worker or a waiter would.
#pragma once

#include <cmwq/delayed_work.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/timers/timer_service.hpp>
#include <cmwq/options.hpp>
#include <cmwq/work.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cmwq_test {

/// What pools use of a runtime. No thread serves its requests, and its pools have no thread before they are used.
class bare_env {
    cmwq::runtime_options options_;
    cmwq::detail::cpu_map cpus_;
    cmwq::detail::thread_budget threads_;
    cmwq::detail::service_requests requests_;
    cmwq::detail::observers observers_;
    cmwq::detail::event_reporter events_;
    cmwq::detail::live_thresholds thresholds_;
    cmwq::detail::diagnosis_requests diagnosis_;
    cmwq::detail::closure_memory closures_;

public:
    mutable cmwq::detail::tick_clock ticks; ///< no thread lets it go on

private:
    cmwq::detail::pool_env env_;
    cmwq::detail::pool_table pools_;

public:
    mutable cmwq::detail::timer_service timers; ///< no thread lets them expire
    static constexpr std::uint64_t first_pool_id = 1000;

    /// `shape`: a text for topology::synthetic(). So no thread is bound to a CPU.
    explicit bare_env(const char* shape = "numa:1 core:1 pu:1", cmwq::runtime_options o = {})
        : options_(with(std::move(o), cmwq::topology::synthetic(shape))),
          cpus_(options_, cmwq::detail::made_for::caller, nullptr), threads_(options_.threads, options_.max_threads),
          events_(options_, requests_, observers_), thresholds_(options_), diagnosis_(thresholds_, requests_),
          closures_(cpus_.nr_cpus()), env_{options_,  cpus_,   threads_,   requests_,  ticks,      pools_,
                                           closures_, events_, diagnosis_, observers_, thresholds_},
          pools_(env_, first_pool_id), timers(first_pool_id, cpus_) {}
    ~bare_env() { deliver_events(); }
    bare_env(const bare_env&) = delete;
    bare_env& operator=(const bare_env&) = delete;

    [[nodiscard]] const cmwq::detail::pool_env& get() const { return env_; }
    /// As the diagnosis thread.
    void deliver_events() { events_.deliver_posted(); }

private:
    static cmwq::runtime_options with(cmwq::runtime_options o, cmwq::topology shape) {
        o.machine = std::move(shape);
        return o;
    }
};

/// A pool that only has a ledger: it counts what the ledger asks of it.
class bare_pool final : public cmwq::detail::item_pool, public cmwq::detail::pool_owner {
public:
    explicit bare_pool(const bare_env& e, std::uint64_t id = 7, cmwq::detail::local_lists* lists = nullptr)
        : item_pool(*this, e.get(), id, 0, cmwq::detail::pool_serves::attributes, {.locals = lists}) {}

    void notify() noexcept override { ++nr_notified; }
    void notify_locked(cmwq::detail::deferred& /*d*/) noexcept override { ++nr_notified; }
    void recall_local_items_locked() noexcept override CMWQ_NO_TSA {
        if (locals != nullptr) locals->recall_locked(ledger);
    }

    using record_of = cmwq::detail::run_record::record_of;
    /// A record for a thread that runs items; the pool destroys it.
    cmwq::detail::worker& add_worker(record_of kind = record_of::worker) {
        auto* const w = new cmwq::detail::worker(*this, nr_workers_++, kind);
        const cmwq::detail::scoped_lock g(ledger.lock);
        ledger.add_record_locked(*w);
        return *w;
    }

    /// As a producer. False: the item is pending already.
    bool push(cmwq::work_base& w, cmwq::detail::pool_workqueue& pwq) {
        using cmwq::detail::work_access;
        if (work_access::claim(w) != cmwq::detail::claim_result::claimed) return false;
        const bool was_queued_before = work_access::pool_id(work_access::location_of(w)) != 0;
        work_access::set_pwq(w, &pwq);
        ledger.push(w, was_queued_before);
        return true;
    }
    /// As a worker that begins to run its next item. Null: there is none for it.
    cmwq::work_base* start(cmwq::detail::worker& by) {
        cmwq::detail::deferred d;
        const cmwq::detail::scoped_lock g(ledger.lock);
        ledger.drain_locked(d);
        cmwq::work_base* const w = ledger.take_locked(by);
        if (w == nullptr) return nullptr;
        ledger.become_busy_locked(by);
        static_cast<void>(ledger.begin_run_locked(by, *w));
        return w;
    }
    void end(cmwq::detail::worker& by) {
        cmwq::detail::deferred d;
        const cmwq::detail::scoped_lock g(ledger.lock);
        ledger.end_run_locked(by, d);
        ledger.leave_busy_locked(by);
    }

    int nr_notified = 0;

private:
    unsigned nr_workers_ = 0;
};

/// Out of line: g++ does not know that an item without a timer is not taken for one with a timer, and warns.
[[gnu::noinline]] inline void forget_pool(cmwq::work_base& w) {
    cmwq::detail::work_access::abandon(w);
    cmwq::detail::work_access::clear_pending(w);
}

/// An item for such a pool. No runtime knows the pool, so the item forgets it before its destructor would search there.
template <class Item>
class bare : public Item {
public:
    bare() : Item([] {}) {}
    ~bare() { forget_pool(*this); }
    bare(const bare&) = delete;
    bare& operator=(const bare&) = delete;
};
using bare_item = bare<cmwq::work<void (*)()>>;
using bare_delayed_item = bare<cmwq::delayed_work<void (*)()>>;

/// A queue with this policy and its default options. It has no pwqs until the test makes some.
template <class Policy>
class bare_queue {
public:
    explicit bare_queue(const bare_env& e)
        : core(reinterpret_cast<cmwq::detail::runtime_core&>(no_runtime_), e.get(), e.timers, settings()) {}
    bare_queue(const bare_queue&) = delete;
    bare_queue& operator=(const bare_queue&) = delete;

private:
    static cmwq::detail::queue_settings settings() {
        return {.name = Policy::name,
                .policy = Policy::name,
                .how = cmwq::detail::execution_of<Policy>(),
                .max_active = Policy::default_max_active};
    }

    // The queue keeps a reference to its runtime, for callers that need it; none of them is under test.
    alignas(cmwq::detail::cache_line) std::byte no_runtime_[cmwq::detail::cache_line] = {};

public:
    cmwq::detail::queue_core core;
    cmwq::detail::queue_face& face = core;
};

/// A queue with one pwq, in `pool`, and with a limit of its own there.
template <class Policy>
struct bare_queue_in {
    bare_queue_in(const bare_env& e, bare_pool& pool, unsigned max_active) : queue(e), pwq(queue.face, pool, nullptr) {
        pwq.max_active = max_active;
    }

    bare_queue<Policy> queue;
    cmwq::detail::pool_workqueue pwq;
};

} // namespace cmwq_test
