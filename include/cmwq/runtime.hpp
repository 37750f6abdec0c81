// SPDX-License-Identifier: BSL-1.0
//
// runtime: owner of the pools and their threads. This header includes the engine, unless CMWQ_COMPILED is defined.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/delayed_work.hpp>
#include <cmwq/observer.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/stats.hpp>
#include <cmwq/topology.hpp>
#include <cmwq/workqueue.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cmwq { inline namespace CMWQ_NS {

/// How `runtime::dump()` writes the state of a runtime.
enum class dump_format : unsigned char {
    text, ///< for people
    json, ///< one object, for programs
};

namespace detail {
class runtime_core;
struct runtime_access;
enum class made_for : bool;
class wanted_traces;
class wanted_control;
} // namespace detail

/// Owns the pools, the timers and all threads of the queues that are made on it. Most programs use `global()`, on which
/// queues are made by default.
///
/// Threads: three of its own, the service thread, the manager thread and the diagnosis thread; at least two workers for
/// each CPU and priority on which an item of a bound queue was ever queued; at least two for each pool of the other
/// queues that is used; an idle-class sentinel for each CPU on which an item of a bound or elastic queue has waited
/// behind a running one; a bottom-half thread for each CPU that has needed one; and one thread for each queue with a
/// rescuer. While nothing is pending, and surplus workers have ended, none of them makes a system call.
///
/// Thread safety: all members may be called from any thread.
class runtime {
public:
    /// Makes a runtime and its three threads, and a fourth one if the options want metrics or lines of `schedtrace`.
    /// Errors: std::invalid_argument for impossible options, std::system_error if the system refuses a thread,
    /// std::bad_alloc.
    explicit runtime(runtime_options options = {});
    /// Ends and joins all threads. The program must destroy the queues of the runtime before, and the calls that queue
    /// on them must have returned. If a queue still exists, the program terminates, with the name of the queue on
    /// stderr; it also terminates if an item of the runtime makes the call. Blocks: until all threads have ended.
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// Returns the process-wide runtime. The first call makes it, with the options of `configure_global()` and of the
    /// environment variable CMWQ. It is never destroyed. A forked child makes a new one. It may use the CPUs of the
    /// process's main thread, even if the first caller is bound to other CPUs.
    ///
    /// CMWQ is for the user of the program: its options take precedence over those of the program.
    /// `CMWQ=watchdog=10s,cpus=0-3+8` sets the options of these names; see docs/guide/options.md. The library ignores
    /// it in a program that runs with other rights than its user's (setuid), and for all other runtimes. The first call
    /// reads it, so call setenv() before that.
    ///
    /// Thread safety: any thread. Blocks: while another thread makes the runtime. Errors: as the constructor, and
    /// std::invalid_argument if the text in CMWQ is not a list of options. The next call tries again.
    [[nodiscard]] static runtime& global();

    /// Sets the options of `global()`. It must come before the first use of that runtime: system queues, and queues
    /// that are made without a runtime, use it. The options of the last call apply. A forked child has the options of
    /// its parent, and may set others before its own first use.
    ///
    /// Thread safety: any thread. Errors: std::logic_error after the first use in this process, std::invalid_argument
    /// for options that no machine can have, std::bad_alloc; nothing changed then. For options that are impossible on
    /// this machine only, `global()` throws.
    ///
    ///     int main() { cmwq::runtime::configure_global({.power_efficient = true}); ... }
    static void configure_global(runtime_options options);

    /// Returns the CPUs that have pools. The reference is valid as long as the runtime.
    [[nodiscard]] const cpuset& cpus() const noexcept;

    /// Returns the CPUs on which attribute-keyed queues run their items, and the runtime its timers: at first
    /// `runtime_options::unbound_cpus`. Errors: std::bad_alloc.
    [[nodiscard]] cpuset unbound_cpus() const;
    /// Sets those CPUs, and changes the pools of all such queues, as `workqueue::apply()` does: no item is lost, none
    /// runs twice, and their order stays. A queue that keeps none of its own CPUs gets all CPUs of the new set, and the
    /// runtime reports that through `on_event`. Bound queues and bottom halves keep their CPUs. Blocks: while other
    /// threads are in the middle of queueing, not for items. Errors: std::invalid_argument if the runtime can use none
    /// of the CPUs, std::bad_alloc; nothing changed then.
    void set_unbound_cpus(const cpuset& cpus);

    /// Returns the scope that `affinity_scope::default_` stands for.
    [[nodiscard]] affinity_scope default_scope() const;
    /// Sets that scope, also for live queues. `default_` itself means `cache_shard`. Blocks and errors: as
    /// `set_unbound_cpus()`.
    void set_default_scope(affinity_scope scope);

    /// Returns the thresholds that are in effect, at first those of the options.
    [[nodiscard]] runtime_thresholds thresholds() const noexcept;
    /// Sets all of them, for items that run and for new ones. Blocks: while another thread changes the runtime. Errors:
    /// std::invalid_argument for a negative time; nothing changed then.
    ///
    ///     auto t = rt.thresholds();
    ///     t.watchdog = 10s;
    ///     rt.set_thresholds(t);
    void set_thresholds(const runtime_thresholds& t);

    /// Returns the topology of the runtime's CPUs, with their caches and NUMA nodes. The first call, or the first
    /// attribute-keyed queue, loads it, which takes milliseconds. Errors: std::bad_alloc.
    [[nodiscard]] const topology& machine() const;

    /// Checks at once which CPUs are online, and adapts the pools if that has changed: see docs/guide/topology.md.
    /// While the runtime has items to run it also notices changes by itself. Errors: std::bad_alloc; the runtime tries
    /// again later then.
    void refresh_topology();

    /// Stops the queues with the option `freezable`: active items, which run or are next in line, still run; no other
    /// item starts until the thaw. Queueing continues, and the order is kept. Freezes nest: each needs its own
    /// `thaw()`. Waiting for a frozen queue (flush, drain, its destructor) waits for the thaw. Blocks: no, see
    /// `wait_frozen()`. Errors: none.
    void freeze();
    /// Whether the freezable queues are frozen and none of their items is active any more. A snapshot.
    [[nodiscard]] bool frozen() const noexcept;
    /// Waits until `frozen()`, and returns true. Returns false if no freeze is in effect, also when a thaw ends the
    /// freeze during the wait. Blocks: for the active items. Errors: std::system_error(resource_deadlock_would_occur)
    /// from inside an item of a freezable queue, std::system_error(operation_not_permitted) from inside a bottom half.
    bool wait_frozen();
    /// Waits until `frozen()`, for `time` at most. Returns false also if that time was too short. Otherwise as
    /// `wait_frozen()`.
    template <detail::duration_like Duration>
    bool wait_frozen_for(const Duration& time) {
        return wait_frozen_for_ns(detail::to_ns(time));
    }
    /// Takes back one `freeze()`. The last thaw lets the items run, in the order in which they were queued.
    /// Errors: std::logic_error without a matching `freeze()`; nothing changed then.
    void thaw();

    /// From here on tells the observer what happens: see <cmwq/observer.hpp>. It must exist until `detach()` has
    /// returned, or the runtime is gone. All items are measured meanwhile, so each takes a microsecond longer, or
    /// somewhat more. Several observers are told one after the other. Blocks: while another thread changes the runtime.
    /// Errors: std::logic_error if it is attached already, std::system_error(resource_deadlock_would_occur) inside a
    /// call of an observer, std::bad_alloc; nothing changed then.
    void attach(observer& o);
    /// Ends that, and returns true. False: the observer is not attached. No thread calls it any more when this returns.
    /// Blocks: for the calls in progress. Errors: std::system_error(resource_deadlock_would_occur) inside a call of an
    /// observer.
    bool detach(observer& o);

    /// Returns counters over all queues. They are read pool by pool, so they are no snapshot of one moment. Errors:
    /// none.
    [[nodiscard]] runtime_stats stats() const noexcept;

    /// Returns the present state, and changes nothing: the pods of all affinity scopes, if anything has asked for the
    /// topology yet; the pools, with the priorities and CPUs that the system refused to their threads; the pool that
    /// serves each CPU of each queue; the rescuers; the limits of the attribute-keyed queues by node; the items that
    /// run, with the activity of their threads; the items that are pending or beyond a limit, where equal ones are
    /// counted; the items that wait for others inside the library. The text is for people, and its form may change; it
    /// begins like the kernel's wq_dump. docs/dev/dump_json.md describes the JSON. Any thread. Blocks: for 0.1 s at
    /// most if other threads hold locks of the library and do not release them; the state under these locks is missing
    /// then. It does not wait for a dlopen() in progress. Errors: std::bad_alloc.
    [[nodiscard]] std::string dump(dump_format form = dump_format::text) const;

    /// Returns what hangs now, as sentences like those of the events; empty: nothing. That is each pool in which items
    /// wait and none, or only later ones, has been started for `at_least`; each frozen queue whose items have waited
    /// for as long; each queue at its limit whose active items have all been blocked for as long, with others waiting,
    /// looked at after each twelfth of the option `watchdog`, and never if that is zero; and each wait of a deadlock
    /// that has been reported. Any thread, also one that watches the program. Blocks: for 0.1 s at most for each lock
    /// of the library that another thread does not release. Errors: std::bad_alloc.
    template <detail::duration_like Duration>
    [[nodiscard]] std::string stall_report(const Duration& at_least) const {
        return stall_report_ns(detail::to_ns(at_least));
    }
    /// The same, with one second.
    [[nodiscard]] std::string stall_report() const { return stall_report_ns(1'000'000'000); }

    /// Returns the numbers of `stats()` of its queues and of its pools in the text form of OpenMetrics 1.0, which
    /// Prometheus and others read; docs/guide/metrics.md lists the series. Queues of the same name and policy are one
    /// series, the sum. Any thread. Blocks: for 0.1 s at most if other threads hold locks of the library and do not
    /// release them; the series that need these are missing then. Errors: std::bad_alloc.
    [[nodiscard]] std::string metrics() const;

    /// Writes a trace of the last ten seconds: `flight_recorder::snapshot()` of the recorder that the option
    /// `flight_recorder` has made. Blocks: until it is written. Errors: std::logic_error if there is no such recorder,
    /// std::system_error if the file cannot be written, or, operation_not_permitted, from inside a bottom half; a
    /// former file is still there then. In a forked child it returns at once, and writes nothing.
    void snapshot_trace(const std::string& path);

private:
    friend struct detail::runtime_access;
    runtime(runtime_options options, detail::made_for whom);
    static runtime* make_global();
    bool wait_frozen_for_ns(std::int64_t ns);
    std::string stall_report_ns(std::int64_t at_least) const;

    std::unique_ptr<detail::runtime_core> core_;
    std::unique_ptr<detail::wanted_traces> traces_;   // null: none
    std::unique_ptr<detail::wanted_control> control_; // null: none
};

/// Keeps the freezable queues of a runtime frozen while it lives. None of their items runs then, so that its owner may
/// call `fork()`: no item holds a lock, or has half-written data, that the child needs. The child inherits a runtime
/// that does nothing there, as after any `fork()`. Thread safety: as `runtime::freeze()` and `runtime::thaw()`.
///
///     { cmwq::freeze_guard still{rt}; pid = ::fork(); }
class freeze_guard {
public:
    /// Freezes, and waits until the queues are frozen. Blocks: for the active items. Errors: as
    /// `runtime::wait_frozen()`; not frozen then.
    [[nodiscard]] explicit freeze_guard(runtime& rt);
    /// Thaws.
    ~freeze_guard();
    freeze_guard(const freeze_guard&) = delete;
    freeze_guard& operator=(const freeze_guard&) = delete;

private:
    runtime& runtime_;
};

}} // namespace cmwq::CMWQ_NS

#ifndef CMWQ_COMPILED
#include <cmwq/engine.hpp>
#endif
