// SPDX-License-Identifier: BSL-1.0
//
// The bodies of runtime_core.

#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- making and ending -----------------------------------------------------------------------------------------------

/// Returns the options as they are used: checked, with times that can be added to the current time without overflow,
/// and with paths that the program does not change when it changes its folder.
CMWQ_INLINE runtime_options checked(runtime_options o) {
    check_options(o);
    constexpr std::chrono::nanoseconds never{std::int64_t{1} << 61};
    for (std::chrono::nanoseconds* const t : {&o.idle_timeout, &o.metrics_interval, &o.schedtrace})
        *t = std::min(*t, never);
    for (std::string* const path : {&o.metrics, &o.trace, &o.flight_recorder})
        if (!path->empty()) *path = absolute_path(with_process_number(*path));
    return o;
}

// If that is a worker, it is bound to fewer CPUs.
[[nodiscard]] CMWQ_INLINE const cpuset* cpus_of_calling_worker() noexcept {
    const run_record* const run = run_of_own_worker();
    return run == nullptr ? nullptr : &run->pool.env().cpus.allowed();
}

CMWQ_INLINE runtime_core::runtime_core(runtime_options o, made_for whom, report_texts texts)
    : options_(checked(std::move(o))), cpus_(options_, whom, cpus_of_calling_worker()),
      threads_(options_.threads, options_.max_threads), events_(options_, requests_, observers_), thresholds_(options_),
      diagnosis_requests_(thresholds_, requests_),
      diagnosis_(
          env_, queues_, [](placement& p) { p.helper_began(placement::helper::diagnosis); }, placement_),
      closures_(cpus_.nr_cpus()),
      env_{options_,   cpus_,      threads_, requests_, ticks_, pools_, closures_, events_, diagnosis_requests_,
           observers_, thresholds_},
      pools_(env_, directory::get().reserve_ids()), listed_(*this, pools_, queues_), placement_(env_, queues_),
      freezer_(placement_, queues_, requests_), timers_(pools_.id(), cpus_),
      service_(env_, timers_, placement_, freezer_), manager_(env_, queues_, placement_),
      reports_(env_, placement_, *this, texts) {
    directory::get().add(listed_);
    try {
        if (options_.clock != nullptr) options_.clock->attach(*this);
    } catch (...) {
        directory::get().remove(listed_);
        throw;
    }
    process_barrier::prepare_if_quick(); // these may be the first threads of the program
    int error = diagnosis_.start();
    if (error == 0) error = service_.start();
    if (error == 0) error = manager_.start();
    if (error == 0) error = reports_.start();
    if (error != 0) {
        end();
        throw std::system_error(error, std::generic_category(), "cmwq::runtime: cannot make its threads");
    }
}

CMWQ_INLINE runtime_core::~runtime_core() {
    if (const run_record* self = this_thread_slots().current_run; self != nullptr && owns(self->pool.id())) {
        std::fprintf(stderr, "cmwq: a runtime is destroyed by %s, which runs on it\n", describe_own_run().c_str());
        std::terminate();
    }
    if (diagnosis_.is_this_thread()) {
        std::fprintf(stderr, "cmwq: a runtime is destroyed by its on_event\n");
        std::terminate();
    }
    // on_event may use the runtime, with queues of its own: for the events that have happened, but then no more.
    diagnosis_.settle();
    {
        const scoped_lock c(placement_.lock());
        ending_ = true;
    }
    diagnosis_.settle();
    queues_.for_each([](const queue_core& left) {
        std::fprintf(stderr, "cmwq: a runtime is destroyed before its %s\n", describe_queue(left.name).c_str());
        std::terminate();
    });
    end();
}

// The diagnosis thread is the last to end: any other thread, and any that keeps the runtime by the directory, may have
// posted an event.
CMWQ_INLINE void runtime_core::end() noexcept {
    if (options_.clock != nullptr) options_.clock->detach(*this);
    reports_.end();
    service_.request_end();
    manager_.request_end();
    service_.join();
    manager_.join();
    pools_.end_threads();
    directory::get().remove(listed_);
    diagnosis_.end();
}

CMWQ_INLINE void runtime_core::stay_loaded() noexcept {
    static constinit atomic<bool> done{false};
    if (done.load(relaxed)) return; // relaxed: idempotent, and publishes nothing
    keep_loaded(reinterpret_cast<const void*>(&runtime_core::stay_loaded));
    done.store(true, relaxed);
}

// Called by the program's clock when it has advanced.
CMWQ_INLINE void runtime_core::time_passed() noexcept {
    if (is_dead()) return; // in a forked child, whose copy of the clock still knows the runtime of the parent
    const std::int64_t time = env_.now();
    while (timers_.expire(time)) {}
    static_cast<void>(manager_.cull_all(time));
}

// --- queues ----------------------------------------------------------------------------------------------------------

CMWQ_INLINE void runtime_core::attach(queue_core& q, const attrs* a) {
    // Loads the topology before the lock is taken. In a child of fork(), the topology of a dead runtime is not used.
    if (a != nullptr && !is_dead()) static_cast<void>(cpus_.machine());
    const scoped_lock c(placement_.lock());
    if (is_dead()) {
        // A child of fork(): threads that do not exist here may hold locks, and queues may be gone but still on the
        // list.
        q.mark_dead();
        return;
    }
    if (ending_) throw std::logic_error("cmwq: a queue is made on a runtime that is being destroyed");
    if (q.exported && exported_locked(q.name) != nullptr) {
        throw std::invalid_argument("cmwq: a second " + describe_queue(q.name) +
                                    " is exported, but the name is how the user finds it");
    }
    if (a != nullptr) placement_.apply_locked(q, *a);
    else q.changes.make_pwqs(q.prio);
    freezer_.join_locked(q);
    queues_.add(q);
}

CMWQ_INLINE void runtime_core::detach(queue_core& q) noexcept {
    const scoped_lock c(placement_.lock()); // waits for a change in progress, which may have a plan for `q`
    queues_.remove(q);
}

CMWQ_INLINE queue_core* runtime_core::exported_locked(std::string_view wanted) const noexcept {
    queue_core* found = nullptr;
    queues_.for_each([&](queue_core& q) {
        if (q.exported && q.name == wanted) found = &q;
    });
    return found;
}

CMWQ_INLINE std::string runtime_core::name() const {
    return options_.name.empty() ? std::to_string(directory::get().number_of(pools_.id())) : options_.name;
}

// --- for the program -------------------------------------------------------------------------------------------------

CMWQ_INLINE void runtime_core::attach(observer& o) {
    const scoped_lock c(placement_.lock()); // no queue is made, and none gets other pools
    if (is_dead()) return;                  // nothing happens here
    if (observers_.contains(o)) throw std::logic_error("cmwq: an observer is attached twice to a runtime");
    observers_.add(o);
    queues_.for_each([](queue_core& q) { q.pwqs.set_observed(true); });
}

CMWQ_INLINE bool runtime_core::detach(observer& o) noexcept {
    const scoped_lock c(placement_.lock());
    if (is_dead() || !observers_.remove(o)) return false;
    if (!observers_.any()) queues_.for_each([](queue_core& q) { q.pwqs.set_observed(false); });
    return true;
}

CMWQ_INLINE void runtime_core::check_cpus() {
    if (!is_dead()) placement_.check_cpus();
}

CMWQ_INLINE void runtime_core::set_thresholds(const runtime_thresholds& t) {
    const scoped_lock c(placement_.lock()); // one caller at a time
    if (is_dead()) return;                  // a thread that does not exist here may hold other locks
    thresholds_.set(t);
    diagnosis_requests_.restart_backlog_checks();
}

CMWQ_INLINE void runtime_core::freeze() {
    if (!is_dead()) freezer_.freeze();
}

CMWQ_INLINE void runtime_core::thaw() {
    if (!is_dead()) freezer_.thaw(); // dead: the child of a fork() that happened during a freeze
}

CMWQ_INLINE bool runtime_core::is_frozen() const noexcept {
    return is_dead() || freezer_.is_frozen(); // in a forked child nothing runs
}

CMWQ_INLINE bool runtime_core::wait_frozen(std::int64_t deadline) {
    if (is_dead()) return true; // threads that do not exist here may hold its locks
    if (const run_record* const self = own_run();
        self != nullptr && self->current_pwq->queue->core.freezable && owns(self->pool.id())) {
        throw_deadlock("cmwq: " + describe_own_run() + ", which is freezable, waits until that is frozen");
    }
    refuse_in_bottom_half("a freeze is awaited");
    return freezer_.wait(deadline);
}

CMWQ_INLINE runtime_stats runtime_core::stats() const noexcept {
    if (is_dead()) return {}; // threads that do not exist here may hold the locks of the pools
    runtime_stats total{.threads = threads_.nr_threads(), .peak_threads = threads_.peak_threads()};
    total.cpu_hogs = events_.nr_cpu_hogs();
    total.events_lost = events_.nr_lost();
    const auto add = [&](auto& p) {
        const pool_stats one = p.stats();
        total.items_started += one.started;
        total.items_completed += one.completed;
        total.blocks_by_guard += one.by_guard;
        total.blocks_by_sentinel += one.by_sentinel;
        total.blocks_by_monitor += one.by_monitor;
        total.spare_wakeups += one.spare_wakeups;
        total.repatriated += one.repatriated;
        total.items_rescued += one.rescued;
        total.overdue += one.overdue;
        total.bias_revocations += one.bias_revocations;
        detail::add(total.workers_made, one.workers_made);
    };
    pools_.for_each_pool(add);
    pools_.for_each_bottom_half(add);
    return total;
}

// --- fork() ----------------------------------------------------------------------------------------------------------

CMWQ_INLINE void runtime_core::mark_dead() noexcept {
    listed_.mark_dead();
    queues_.mark_dead();
    service_.forget_thread();
    manager_.forget_thread();
    diagnosis_.forget_thread();
    reports_.forget_thread();
    pools_.forget_threads();
}

}}} // namespace cmwq::CMWQ_NS::detail
