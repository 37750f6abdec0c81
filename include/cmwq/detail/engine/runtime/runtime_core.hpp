// SPDX-License-Identifier: BSL-1.0
//
// runtime_core: the parts of a runtime, and the order in which they are made and end.
#pragma once

#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/env/library_copy.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/freezer.hpp>
#include <cmwq/detail/engine/runtime/manager_thread.hpp>
#include <cmwq/detail/engine/runtime/periodic_reports.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/engine/runtime/service_thread.hpp>
#include <cmwq/detail/engine/stuck/diagnosis_thread.hpp>
#include <cmwq/detail/engine/timers/timer_service.hpp>
#include <cmwq/fwd.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/stats.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct runtime_report;

/// Makes the parts and connects them; the parts decide. Any thread may call every member that does not say otherwise.
/// Letters: I set by the constructor · A atomic
class runtime_core final : public made_by, private clock_listener {
public:
    /// Throws std::invalid_argument, std::bad_alloc, or std::system_error if one of its threads cannot be created.
    runtime_core(runtime_options o, made_for whom, report_texts texts);
    /// Ends and joins all threads. All queues must be gone.
    ~runtime_core();
    runtime_core(const runtime_core&) = delete;
    runtime_core& operator=(const runtime_core&) = delete;

    /// Keeps the code of the library loaded for ever. Called before a runtime is made that is never destroyed, because
    /// its threads run that code.
    static void stay_loaded() noexcept;

    // --- parts -------------------------------------------------------------------------------------------------------

    [[nodiscard]] const pool_env& env() const noexcept { return env_; }
    [[nodiscard]] pool_table& pools() noexcept { return pools_; }
    [[nodiscard]] const pool_table& pools() const noexcept { return pools_; }
    [[nodiscard]] item_pool& pool(std::uint64_t pool_id) noexcept { return pools_.pool(pool_id); }
    [[nodiscard]] bool owns(std::uint64_t pool_id) const noexcept { return pools_.owns(pool_id); }
    [[nodiscard]] placement& placing() noexcept { return placement_; }
    [[nodiscard]] const placement& placing() const noexcept { return placement_; }
    [[nodiscard]] timer_service& timers() noexcept { return timers_; }
    [[nodiscard]] const queue_list& queues() const noexcept { return queues_; }

    /// Its name in metrics. Throws std::bad_alloc.
    [[nodiscard]] std::string name() const;

    // --- queues ------------------------------------------------------------------------------------------------------

    /// Makes the pwqs of a new queue, and enters it in the list. `a`: the attributes of an attribute-keyed queue, else
    /// null. Throws as `placement::apply()`, and does not enter the queue then.
    void attach(queue_core& q, const attrs* a);
    void detach(queue_core& q) noexcept;
    /// Calls f(queue_core&) for the exported queue of this name. It holds the configuration lock: the queue is not
    /// destroyed, and its attributes do not change otherwise. False: there is no such queue.
    template <class F>
    bool with_exported(std::string_view wanted, F&& f) {
        static_cast<void>(cpus_.machine()); // loads the topology before the lock is taken
        const scoped_lock c(placement_.lock());
        queue_core* const found = exported_locked(wanted);
        if (found != nullptr) f(*found);
        return found != nullptr;
    }

    // --- the members of cmwq::runtime --------------------------------------------------------------------------------

    /// Throws std::logic_error if `o` is attached already, std::bad_alloc.
    void attach(observer& o);
    /// False: it is not attached.
    bool detach(observer& o) noexcept;
    /// Throws std::bad_alloc.
    void check_cpus();
    void set_thresholds(const runtime_thresholds& t);
    void freeze();
    /// Throws std::logic_error without a matching `freeze()`.
    void thaw();
    [[nodiscard]] bool is_frozen() const noexcept;
    /// As `freezer::wait()`. Throws std::system_error in a freezable item of this runtime, and in any bottom half.
    [[nodiscard]] bool wait_frozen(std::int64_t deadline);
    [[nodiscard]] runtime_stats stats() const noexcept;
    [[nodiscard]] runtime_report report() const;

    // --- fork() ------------------------------------------------------------------------------------------------------

    // The order of locks does not hold here, because the runtimes are locked one after the other. So the locks are
    // taken as plain mutexes, without the check of the order. The directory's lock lets only one thread at a time do
    // this.
    void lock_for_fork() noexcept CMWQ_NO_TSA {
        for (mutex* m : locks_for_fork()) m->lock();
    }
    void unlock_after_fork() noexcept CMWQ_NO_TSA {
        for (mutex* m : locks_for_fork()) m->unlock();
    }
    [[nodiscard]] bool is_dead() const noexcept { return listed_.is_dead(); }
    /// The child calls this between the two. From then on nothing in this runtime runs, and nothing waits for it.
    void mark_dead() noexcept;

private:
    [[nodiscard]] std::array<mutex*, 3> locks_for_fork() noexcept {
        return {&placement_.lock(), &queues_.lock_for_fork(), &cpus_.lock_for_fork()};
    }
    /// Null: there is none.
    [[nodiscard]] queue_core* exported_locked(std::string_view wanted) const noexcept;
    void time_passed() noexcept override;
    void end() noexcept;

    const runtime_options options_; // I
    bool ending_ = false;           // CF: on_event makes no more queues
    cpu_map cpus_;
    thread_budget threads_;
    service_requests requests_;
    observers observers_;
    event_reporter events_;
    queue_list queues_;
    live_thresholds thresholds_;
    diagnosis_requests diagnosis_requests_;
    diagnosis_thread diagnosis_;
    closure_memory closures_;
    // Read for each item. The clock is written at each tick only, so it costs less here than a line of its own.
    alignas(cache_line) tick_clock ticks_;
    pool_env env_; // I
    pool_table pools_;
    listed_runtime listed_;
    placement placement_;
    freezer freezer_;
    timer_service timers_;
    service_thread service_;
    manager_thread manager_;
    periodic_reports reports_;
};

}}} // namespace cmwq::CMWQ_NS::detail
