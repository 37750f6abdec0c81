// SPDX-License-Identifier: BSL-1.0
//
// runtime_core: what stands behind a runtime. The CPUs with their pools and sentinels, the queues, the timers, and two
// threads. The service thread fires timers, calls rescuers, and is the monitor that finds what the sentinels cannot: it
// makes no thread and waits for none. The staff thread makes the first worker of a pool, sentinels and the threads of
// bottom halves, ends and joins surplus workers, frees what is not used any more, and watches which CPUs there are.
#pragma once

#include <cmwq/detail/engine/item/timer_service.hpp>
#include <cmwq/detail/engine/pool/bottom_half.hpp>
#include <cmwq/detail/engine/pool/pool_registry.hpp>
#include <cmwq/detail/engine/pool/sentinel.hpp>
#include <cmwq/detail/engine/pool/worker_pool.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/report/diagnosis_thread.hpp>
#include <cmwq/detail/engine/runtime/library_copy.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/topology.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

inline constexpr unsigned nr_priorities = 3; // pools of a CPU with workers, in the order of `priority`
inline constexpr unsigned nr_pools_of_cpu = nr_priorities + nr_bh_priorities;

/// One CPU of a runtime.
struct cpu_slot {
    cpu_slot(runtime_core& rt, std::uint64_t first_pool_id, unsigned cpu_number, unsigned place);

    const unsigned cpu; // I
    sentinel guard;
    worker_pool pools[nr_priorities];
    worker_pool bottom_halves[nr_bh_priorities];
    bh_thread left_over; // does what is left of the bottom halves
};

/// One pool of those that serve a queue, and the CPUs for whose callers it does.
struct pool_choice {
    pool_spec spec;
    std::vector<unsigned> places;
};

/// An item that has just been pushed. As long as this lives the pool does.
struct pushed {
    grace_period::reader keeps_pool;
    worker_pool* tell = nullptr; ///< to be told, as soon as no lock is held
};

/// Whose CPUs a runtime may use: those of the thread that makes it, or of the process's main thread.
enum class made_for : bool { caller, process };

/// Letters: I set by the constructor · CF config_lock_ · RQ queues_lock_ · S the service thread · ST the staff thread ·
/// A atomic
class runtime_core final : public made_by, private clock_listener {
public:
    /// Throws std::invalid_argument, std::bad_alloc, or std::system_error if one of its two threads cannot be made.
    explicit runtime_core(runtime_options o, made_for whom = made_for::caller);
    /// All queues are gone. Ends and joins all threads.
    ~runtime_core();
    runtime_core(const runtime_core&) = delete;
    runtime_core& operator=(const runtime_core&) = delete;

    // --- identity: pool ids are unique in the process; those of a runtime are contiguous -------------------------------

    static constexpr std::uint64_t nr_pool_ids = std::uint64_t{1} << 24; // of 2^56: work_access::place
    [[nodiscard]] std::uint64_t id() const noexcept { return first_pool_id_; }
    [[nodiscard]] bool owns(std::uint64_t pool_id) const noexcept { return pool_id - first_pool_id_ < nr_pool_ids; }
    [[nodiscard]] worker_pool& pool(std::uint64_t pool_id) noexcept {
        const std::uint64_t n = pool_id - first_pool_id_;
        if (n >= nr_cpu_pools()) return registry_.named(static_cast<std::size_t>(n - nr_cpu_pools()));
        cpu_slot& s = *slots_[n / nr_pools_of_cpu];
        const std::uint64_t i = n % nr_pools_of_cpu;
        return i < nr_priorities ? s.pools[i] : s.bottom_halves[i - nr_priorities];
    }
    [[nodiscard]] std::uint64_t id_of_shared_pool(std::size_t n) const noexcept {
        return first_pool_id_ + nr_cpu_pools() + n;
    }
    /// Calls f(worker_pool&) for every one with workers.
    template <class F>
    void for_each_pool(F&& f) const;
    template <class F>
    void for_each_bottom_half(F&& f) const;

    /// Before a runtime is made that is never destroyed: the code of its threads is never unloaded.
    static void stay_loaded() noexcept;

    // --- CPUs: each has a place, 0 ... nr_cpus() - 1 ---------------------------------------------------------------------

    [[nodiscard]] unsigned nr_cpus() const noexcept { return static_cast<unsigned>(cpus_.size()); }
    [[nodiscard]] const cpuset& cpus() const noexcept { return cpus_; }
    [[nodiscard]] unsigned cpu_at(unsigned place) const noexcept { return slots_[place]->cpu; }
    [[nodiscard]] sentinel& sentinel_at(unsigned place) noexcept { return slots_[place]->guard; }
    [[nodiscard]] worker_pool& pool_at(unsigned place, priority p) noexcept {
        return slots_[place]->pools[static_cast<unsigned>(p)];
    }
    [[nodiscard]] worker_pool& bottom_half_at(unsigned place, priority p) noexcept {
        return slots_[place]->bottom_halves[static_cast<unsigned>(p)];
    }
    [[nodiscard]] cpuset places_of(const cpuset& cpus) const;
    /// Whether items can be queued on that CPU; any_cpu is one.
    [[nodiscard]] bool has_cpu(int cpu) const noexcept {
        return cpu < 0 || (static_cast<std::size_t>(cpu) < slot_of_cpu_.size() &&
                           slot_of_cpu_[static_cast<std::size_t>(cpu)] != no_slot);
    }
    [[nodiscard]] bool has_node(int node) const { return topology_of_machine().has_node(node); }
    /// Threads stay where they belong; false for a machine that is only simulated.
    [[nodiscard]] bool binds_threads() const noexcept { return binds_threads_; }
    /// Another number each time when CPUs have come or gone; odd while some are missing. Threads bind themselves again
    /// when it changes: the kernel may have let them go.
    [[nodiscard]] unsigned binding() const noexcept { return binding_.load(relaxed); }
    /// How many workers keep these CPUs busy: fewer than there are if the process's quota of CPU time is smaller.
    [[nodiscard]] int width_of(const cpuset& pod) const noexcept;
    /// The CPUs whose sentinels look after a pool.
    [[nodiscard]] cpuset watchers_of(const pool_spec& spec) const;
    /// Whether one CPU more may help where so many workers run already.
    [[nodiscard]] bool quota_admits(int nr_running) const noexcept { return nr_running < quota_; }
    /// Loaded at its first use: programs that only use bound queues do without.
    [[nodiscard]] const topology& topology_of_machine() const CMWQ_EXCLUDES(topology_lock_);

    // --- which pools serve a queue; all of this under the configuration lock --------------------------------------------

    [[nodiscard]] pool_registry& pools() noexcept { return registry_; }
    /// The pools for `plan.wanted`. Throws std::invalid_argument if that cannot be met, and not `lenient`;
    /// std::bad_alloc.
    [[nodiscard]] std::vector<pool_choice> choose_pools(queue_plan& plan, bool lenient) CMWQ_NO_TSA;
    /// Throws std::invalid_argument, std::bad_alloc; nothing changed then.
    void apply(queue_core& q, const attrs& a) CMWQ_EXCLUDES(config_lock_);
    void set_unbound_cpus(const cpuset& cpus) CMWQ_EXCLUDES(config_lock_);
    [[nodiscard]] cpuset unbound_cpus() const CMWQ_EXCLUDES(config_lock_);
    void set_default_scope(affinity_scope scope) CMWQ_EXCLUDES(config_lock_);
    [[nodiscard]] affinity_scope default_scope() const CMWQ_EXCLUDES(config_lock_);
    /// Looks which CPUs there are, and adapts if they have changed. Throws std::bad_alloc.
    void check_cpus() CMWQ_EXCLUDES(config_lock_);

    // --- queues ---------------------------------------------------------------------------------------------------------

    /// Throws as `apply()`; the queue is not known then. `a`: of an attribute-keyed queue.
    void attach(queue_core& q, const attrs* a) CMWQ_EXCLUDES(config_lock_, queues_lock_);
    void detach(queue_core& q) noexcept CMWQ_EXCLUDES(config_lock_, queues_lock_);
    /// Calls f(). A queue that has something under way stays until it returns.
    template <class F>
    void with_queues_kept(F&& f) const CMWQ_EXCLUDES(queues_lock_) {
        const scoped_lock g(queues_lock_);
        f();
    }

    /// Chooses the pool and pushes an item whose PENDING the caller owns. `node`: prefer a CPU there; -1: no matter.
    [[nodiscard]] pushed push(queue_core& q, work_base& w, int cpu, int node = -1) noexcept;

    // --- freezing -------------------------------------------------------------------------------------------------------

    /// Freezes nest. Throws std::logic_error in thaw() without a matching freeze().
    void freeze() CMWQ_EXCLUDES(config_lock_, queues_lock_);
    void thaw() CMWQ_EXCLUDES(config_lock_, queues_lock_);
    [[nodiscard]] bool is_frozen() const noexcept CMWQ_EXCLUDES(config_lock_, queues_lock_) {
        return freezing() == freeze_state::frozen;
    }
    /// False: not until the deadline (steady clock, 0: none), or somebody has thawed it meanwhile. Throws
    /// std::system_error if it would wait for itself.
    [[nodiscard]] bool wait_frozen(std::int64_t deadline) CMWQ_EXCLUDES(config_lock_, queues_lock_, thaw_lock_);
    /// Any thread, also under locks: the last active item of a frozen pwq is done.
    void request_freeze_check() noexcept {
        freeze_check_wanted_.store(true, release); // [LOCK]
        request_service();
    }

    // --- what does not get on: watchdog.ipp -----------------------------------------------------------------------------

    [[nodiscard]] diagnosis_thread& diagnosis() noexcept { return diagnosis_; }
    /// How long a queue at its limit may stand still; 0: for ever.
    [[nodiscard]] std::int64_t backlog_limit() const noexcept { return options_.watchdog.count() / 3; }
    /// The diagnosis thread: looks at the queues that have reached their limits. `passed`: since the last look,
    /// nanoseconds. Returns whether there are any.
    bool watch_backlogs(std::int64_t passed) noexcept CMWQ_EXCLUDES(queues_lock_);
    /// An item has been found to keep its CPU for too long.
    void note_hog(void (*function)(work_base&), const char* queue, unsigned cpu) noexcept;

    // --- services -------------------------------------------------------------------------------------------------------

    /// For workers whose state is to be read without opening files. They come out of one budget, a modest share of what
    /// the process may have; first come, first served. False: none are left.
    [[nodiscard]] bool take_descriptors(int n) noexcept {
        int left = descriptors_left_.load(relaxed);
        do {
            if (left < n) return false;
        } while (!descriptors_left_.compare_exchange_weak(left, left - n, relaxed, relaxed)); // only a number
        return true;
    }
    void give_back_descriptors(int n) noexcept { descriptors_left_.fetch_add(n, relaxed); }
    [[nodiscard]] timer_service& timers() noexcept { return timers_; }
    [[nodiscard]] std::int64_t now() const noexcept {
        return options_.clock == nullptr ? steady_now() : options_.clock->now();
    }
    [[nodiscard]] std::int64_t idle_timeout() const noexcept { return options_.idle_timeout.count(); }
    [[nodiscard]] bool power_efficient() const noexcept { return options_.power_efficient; }
    [[nodiscard]] std::int64_t may_block_threshold() const noexcept { return options_.may_block_threshold.count(); }

    /// Any thread, also an idle-class one: the service thread looks at everything once.
    void request_service() noexcept { service_sleep_.unpark(); }
    /// The same for the staff thread.
    void request_staff() noexcept { staff_sleep_.unpark(); }
    void request_reaping(queue_core& q) noexcept {
        q.ask_for_reaping();
        request_cleaning();
    }
    /// Queues or pools have something to be freed.
    void request_cleaning() noexcept {
        cleaning_wanted_.store(true, release); // [CLEAN-1]
        request_staff();
    }
    void request_topology_check() noexcept {
        check_wanted_.store(true, release); // [LOCK]
        request_staff();
    }
    /// As sentinel::arm(), for the monitor.
    void arm_monitor() noexcept {
        if (monitoring_.arm() != arming::none) service_sleep_.remind();
    }

    int start_thread(thread& t, thread_body body, void* arg) noexcept {
        return options_.threads == nullptr ? t.start(body, arg) : options_.threads->start(t, body, arg);
    }
    /// A place for one more worker; false at the limit.
    [[nodiscard]] bool admit_worker() noexcept;
    /// It is free again.
    void dismiss_worker() noexcept {
        nr_workers_.fetch_sub(1, release); // [ADMIT-1] nr_threads_ never counts the next one beside this one
    }
    /// It has been told to end.
    void worker_ended() noexcept {
        thread_ended();
        dismiss_worker();
    }
    [[nodiscard]] const own_priority& own() const noexcept { return own_; }
    /// The last act of a worker's thread, but for the destructors of its thread_local objects.
    void thread_leaves(worker& w) noexcept {
        static_cast<void>(leaving_.push(w));
        request_staff();
    }
    /// Threads that run items, also those without a limit.
    void thread_started() noexcept;
    void thread_ended() noexcept { nr_threads_.fetch_sub(1, relaxed); }
    void report_refusals(const thread_refusals& r, const thread_attributes& a) noexcept;
    void report_no_thread(const worker_pool& pool, int error) noexcept;
    void report_no_thread(unsigned cpu, int error) noexcept;
    void report_thread_limit(const worker_pool& pool) noexcept;
    void report_rescue(queue_core& q) noexcept;
    void report_no_sentinel(unsigned cpu, int error) noexcept;
    void report_blocked(const queue_core& q, unsigned cpu) noexcept;
    /// `describe()` makes the message; it is called only if somebody gets to see it. No lock is held.
    template <class Describe>
    void report(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;
    [[nodiscard]] bool has_listener() const noexcept { return static_cast<bool>(options_.on_event); }
    [[nodiscard]] runtime_stats stats() const noexcept;
    [[nodiscard]] std::string dump() const CMWQ_EXCLUDES(config_lock_, queues_lock_);

    // --- fork() ---------------------------------------------------------------------------------------------------------

    // As plain mutexes: one runtime after the other, the order of locks does not hold. The directory's lock keeps two
    // threads from doing so at once.
    void lock_for_fork() noexcept CMWQ_NO_TSA {
        for (mutex* m : locks_for_fork()) m->lock();
    }
    void unlock_after_fork() noexcept CMWQ_NO_TSA {
        for (mutex* m : locks_for_fork()) m->unlock();
    }
    [[nodiscard]] bool is_dead() const noexcept { return dead_.load(relaxed); }
    /// In the child, between the two: nothing of this runtime works any more, and nothing waits for it.
    void mark_dead() noexcept CMWQ_NO_TSA;

    atomic<unsigned> pins{0}; ///< who looks at the pools right now without a queue that keeps them (directory.hpp)
    atomic<runtime_core*> next_listed{nullptr}; ///< the directory's list

private:
    std::array<mutex*, 3> locks_for_fork() noexcept { return {&config_lock_, &queues_lock_, &topology_lock_}; }

    static constexpr unsigned no_slot = ~0u;

    void time_passed() noexcept override;
    static void service_main(void* self);
    void serve() noexcept;
    static void staff_main(void* self);
    void keep_staff() noexcept;
    std::int64_t cull_all(std::int64_t now) noexcept;
    std::int64_t reap_threads(std::int64_t now) noexcept;
    void end_helpers() noexcept;
    void serve_requests() noexcept;
    void start_sentinels_of(const worker_pool& pool) noexcept;
    void clean() noexcept CMWQ_EXCLUDES(queues_lock_);
    void look_after_cpus() noexcept;
    bool make_room_for(const worker_pool& pool) noexcept;
    template <class F>
    void for_each_freezable(F&& f) const CMWQ_EXCLUDES(queues_lock_);
    enum class freeze_state : unsigned char { none, freezing, frozen };
    [[nodiscard]] freeze_state freezing() const noexcept CMWQ_EXCLUDES(config_lock_, queues_lock_);
    void tell_frozen() noexcept CMWQ_EXCLUDES(thaw_lock_);
    bool monitor_tick(std::int64_t passed) noexcept;
    void report_stall(worker_pool& pool) noexcept;
    [[nodiscard]] bool anything_pending() const noexcept;
    [[nodiscard]] std::uint64_t nr_cpu_pools() const noexcept { return std::uint64_t{nr_cpus()} * nr_pools_of_cpu; }
    [[nodiscard]] unsigned slot_of(int cpu) const noexcept;
    [[nodiscard]] unsigned place_on_node(unsigned place, int node) const noexcept;
    void serve_other_places(std::vector<pool_choice>& choices) const;
    void keep_away_from_isolated_cpus(bool new_thread = false) noexcept CMWQ_EXCLUDES(config_lock_);
    void bind_helpers(const cpuset& cpus) const noexcept;
    void share_quota(std::vector<pool_choice>& choices, bool strict) const;
    [[nodiscard]] cpuset usable_now() CMWQ_REQUIRES(config_lock_);
    // Makes all queues fit what is set now. The caller reports what comes back once it holds no lock.
    [[nodiscard]] std::vector<std::string> remap_locked() CMWQ_REQUIRES(config_lock_);
    void report_unavailable(const std::vector<std::string>& complaints) noexcept;
    template <class Describe>
    void report_once(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;

    runtime_options options_;                      // I
    cpuset allowed_;                               // I: what the process may use, as far as it could be told
    cpuset cpus_;                                  // I
    const own_priority own_;                       // I: what threads are for which nothing else is wished
    cpuset leave_inherited_mask_for_;              // I: the two threads do; empty: that mask is right
    bool binds_threads_ = true;                    // I
    double quota_ = 0;                             // I: CPUs' worth of time that the process may use, or infinity
    std::uint64_t first_pool_id_ = 0;              // I
    std::vector<std::unique_ptr<cpu_slot>> slots_; // I
    std::vector<unsigned> slot_of_cpu_;            // I
    pool_registry registry_;

    mutable ranked_mutex<lock_rank::topology> topology_lock_;
    mutable std::optional<topology> topology_ CMWQ_GUARDED_BY(topology_lock_); // I once it is there
    mutable atomic<bool> topology_known_{false};

    mutable ranked_mutex<lock_rank::configuration>
        config_lock_; // CF: the outermost; what decides on the pools of queues
    cpuset unbound_cpus_ CMWQ_GUARDED_BY(config_lock_);
    cpuset usable_ CMWQ_GUARDED_BY(config_lock_); // of cpus_, those that are there
    affinity_scope default_scope_ CMWQ_GUARDED_BY(config_lock_);
    cpuset service_cpus_ CMWQ_GUARDED_BY(config_lock_); // those that the two threads keep to; empty: to none
    bool service_was_bound_ CMWQ_GUARDED_BY(config_lock_) = false;

    // What workers and producers read for each item, and nobody writes often.
    alignas(cache_line) atomic<unsigned> binding_{0}; // A, written under CF
    atomic<bool> dead_{false};                        // A: the parent's, in a forked child
    arming monitoring_;                               // A

    alignas(cache_line) timer_service timers_{*this};
    thread service_; // I
    parker service_sleep_;
    atomic<long> service_tid_{0}; // A: 0: it has not begun yet
    thread staff_;                // I
    parker staff_sleep_;
    atomic<long> staff_tid_{0};                 // A: its mask tells which CPUs there are
    inbox<worker, idle_tag> leaving_;           // A: workers whose threads are about to be gone
    intrusive_list<worker, idle_tag> unjoined_; // ST: those that were not yet when it looked
    std::int64_t reap_at_ = 0, reap_pause_ = 0; // ST: steady clock, and nanoseconds; 0: there are none
    atomic<bool> stop_{false};                  // A
    atomic<bool> cleaning_wanted_{false};       // A
    atomic<bool> check_wanted_{false};          // A
    atomic<bool> routine_check_wanted_{false};  // A
    atomic<bool> freeze_check_wanted_{false};   // A
    std::int64_t check_due_ = 0;                // S: when it asks for the next look at the CPUs; steady clock
    std::int64_t checked_at_ = 0;               // ST: when it last looked which CPUs there are; steady clock
    int quiet_ticks_ = 0;                       // S
    std::int64_t tick_length_ = 0;              // S: nanoseconds
    std::int64_t ticked_at_ = 0;                // S: steady clock
    diagnosis_thread diagnosis_{*this};
    struct hog {
        void (*function)(work_base&);
        std::uint64_t hits;
    };
    std::vector<hog> hogs_;            // S
    atomic<std::uint64_t> nr_hogs_{0}; // A

    atomic<unsigned> nr_workers_{0};                       // A: those that max_threads counts
    atomic<unsigned> nr_threads_{0};                       // A: with the threads of bottom halves
    atomic<unsigned> peak_threads_{0};                     // A
    atomic<int> descriptors_left_{share_of_descriptors()}; // A
    atomic<unsigned> reported_{0};                         // A: a bit for each kind of event

    struct freeze_waiter {
        parker sleep;
        freeze_waiter* next = nullptr;
    };
    unsigned nr_freezes_ CMWQ_GUARDED_BY(config_lock_) = 0;
    ranked_mutex<lock_rank::thaw> thaw_lock_;                             // innermost
    freeze_waiter* freeze_waiters_ CMWQ_GUARDED_BY(thaw_lock_) = nullptr; // on the stacks of those who wait

    mutable ranked_mutex<lock_rank::list_of_queues> queues_lock_; // RQ
    mutable intrusive_list<queue_core, queue_tag> queues_ CMWQ_GUARDED_BY(queues_lock_);
};

} // namespace cmwq::inline CMWQ_NS::detail
