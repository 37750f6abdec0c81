// SPDX-License-Identifier: BSL-1.0
//
// runtime_core: what stands behind a runtime. The CPUs with their pools and sentinels, the queues, the timers, and the
// service thread, which does what nobody else may stop for: it fires timers, makes the first worker of a pool, ends
// surplus ones, and is the monitor that finds what the sentinels cannot.
#pragma once

#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/sentinel.hpp>
#include <cmwq/detail/engine/timer_service.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

inline constexpr unsigned nr_priorities = 3; // pools of a CPU, in the order of `priority`

/// One CPU of a runtime.
struct cpu_slot {
    cpu_slot(runtime_core& rt, std::uint64_t first_pool_id, unsigned cpu_number) noexcept
        : cpu(cpu_number), guard(rt, *this), pools{{rt, first_pool_id, cpu, sched_class::normal, guard},
                                                   {rt, first_pool_id + 1, cpu, sched_class::high, guard},
                                                   {rt, first_pool_id + 2, cpu, sched_class::fifo, guard}} {}

    const unsigned cpu; // I
    sentinel guard;
    worker_pool pools[nr_priorities];
};

/// Letters: I set by the constructor · RQ queues_lock_ · S the service thread · A atomic
class runtime_core final : private clock_listener {
public:
    /// Throws std::invalid_argument, std::bad_alloc, or std::system_error if the service thread cannot be made.
    explicit runtime_core(runtime_options o);
    /// All queues are gone. Ends and joins all threads.
    ~runtime_core();
    runtime_core(const runtime_core&) = delete;
    runtime_core& operator=(const runtime_core&) = delete;

    // --- identity: pool ids are unique in the process; those of a runtime are contiguous -------------------------------

    [[nodiscard]] std::uint64_t id() const noexcept { return first_pool_id_; }
    [[nodiscard]] std::uint64_t nr_pools() const noexcept { return slots_.size() * nr_priorities; }
    [[nodiscard]] bool owns(std::uint64_t pool_id) const noexcept { return pool_id - first_pool_id_ < nr_pools(); }
    [[nodiscard]] worker_pool& pool(std::uint64_t pool_id) noexcept {
        const std::uint64_t n = pool_id - first_pool_id_;
        return slots_[n / nr_priorities]->pools[n % nr_priorities];
    }

    [[nodiscard]] unsigned nr_cpus() const noexcept { return static_cast<unsigned>(slots_.size()); }
    [[nodiscard]] const cpuset& cpus() const noexcept { return cpus_; }
    /// Whether items can be queued on that CPU; any_cpu is one.
    [[nodiscard]] bool has_cpu(int cpu) const noexcept {
        return cpu < 0 || (static_cast<std::size_t>(cpu) < slot_of_cpu_.size() &&
                           slot_of_cpu_[static_cast<std::size_t>(cpu)] != no_slot);
    }

    // --- queues ---------------------------------------------------------------------------------------------------------

    void attach(queue_core& q) noexcept CMWQ_EXCLUDES(queues_lock_);
    void detach(queue_core& q) noexcept CMWQ_EXCLUDES(queues_lock_);
    /// A queue that was destroyed from inside one of its items: it is finished here.
    void adopt(queue_core& q) noexcept CMWQ_EXCLUDES(queues_lock_);

    /// Chooses the pool and pushes an item whose PENDING the caller owns. Returns the pool if it has to be told
    /// (`after_push()`), as soon as no lock is held.
    [[nodiscard]] worker_pool* push(queue_core& q, work_base& w, int cpu) noexcept;

    // --- services -------------------------------------------------------------------------------------------------------

    /// Workers of a pool whose state can be read without opening a file: as many as fit a modest share of the
    /// descriptors that a process may have.
    [[nodiscard]] unsigned nr_kept_probes() const noexcept {
        const unsigned share = 64 / nr_cpus();
        return share < 2 ? 2 : share > 16 ? 16 : share;
    }
    [[nodiscard]] timer_service& timers() noexcept { return timers_; }
    [[nodiscard]] std::int64_t now() const noexcept {
        return options_.clock == nullptr ? steady_now() : options_.clock->now();
    }
    [[nodiscard]] std::int64_t idle_timeout() const noexcept { return options_.idle_timeout.count(); }
    [[nodiscard]] std::int64_t may_block_threshold() const noexcept { return options_.may_block_threshold.count(); }
    [[nodiscard]] std::uint64_t slot_index(const worker_pool& p) const noexcept {
        return (p.id() - first_pool_id_) / nr_priorities;
    }

    /// Any thread, also an idle-class one: the service thread looks at everything once.
    void request_service() noexcept { service_sleep_.unpark(); }
    /// As sentinel::arm(), for the monitor.
    void arm_monitor() noexcept {
        if (!monitoring_.load(seq_cst) && !monitoring_.exchange(true, seq_cst)) service_sleep_.unpark(); // [ARM-1]
    }

    int start_thread(thread& t, thread_body body, void* arg) noexcept {
        return options_.threads == nullptr ? t.start(body, arg) : options_.threads->start(t, body, arg);
    }
    void worker_started() noexcept;
    void worker_ended() noexcept { nr_workers_.fetch_sub(1, relaxed); }
    void report_refusals(const thread_refusals& r, const thread_attributes& a) noexcept;
    void report_no_thread(unsigned cpu, int error) noexcept;
    [[nodiscard]] runtime_stats stats() const noexcept;

    // --- fork() ---------------------------------------------------------------------------------------------------------

    void lock_for_fork() noexcept CMWQ_NO_TSA { queues_lock_.lock(); }
    void unlock_after_fork() noexcept CMWQ_NO_TSA { queues_lock_.unlock(); }
    /// In the child, between the two: nothing of this runtime works any more, and nothing waits for it.
    void mark_dead() noexcept CMWQ_NO_TSA;

    atomic<unsigned> pins{0}; ///< who looks at the pools right now without a queue that keeps them (directory.hpp)

private:
    static constexpr unsigned no_slot = ~0u;

    void time_passed() noexcept override;
    static void service_main(void* self);
    void serve() noexcept;
    std::int64_t serve_clock(std::int64_t now) noexcept;
    void serve_requests() noexcept;
    bool monitor_tick() noexcept;
    [[nodiscard]] bool anything_pending() const noexcept;
    [[nodiscard]] unsigned slot_of(int cpu) const noexcept;
    template <class Describe>
    void report(event::kind what, int error, unsigned cpu, Describe describe) noexcept;

    runtime_options options_;                      // I
    cpuset allowed_;                               // I: what the process may use, as far as it could be told
    cpuset cpus_;                                  // I
    bool made_on_worker_ = false;                  // I
    std::uint64_t first_pool_id_ = 0;              // I
    std::vector<std::unique_ptr<cpu_slot>> slots_; // I
    std::vector<unsigned> slot_of_cpu_;            // I

    timer_service timers_{*this};
    thread service_; // I
    parker service_sleep_;
    atomic<bool> dead_{false};       // A: the parent's, in a forked child
    atomic<bool> stop_{false};       // A
    atomic<bool> monitoring_{false}; // A
    int quiet_ticks_ = 0;            // S
    std::int64_t tick_length_ = 0;   // S: nanoseconds

    atomic<unsigned> nr_workers_{0};   // A
    atomic<unsigned> peak_workers_{0}; // A
    atomic<unsigned> reported_{0};     // A: a bit for each kind of event

    mutable mutex queues_lock_; // RQ
    intrusive_list<queue_core, queue_tag> queues_ CMWQ_GUARDED_BY(queues_lock_);
    intrusive_list<queue_core, queue_tag> orphans_ CMWQ_GUARDED_BY(queues_lock_);
};

} // namespace cmwq::inline CMWQ_NS::detail
