// SPDX-License-Identifier: BSL-1.0
//
// The options of a runtime: tunables, and the parts of the outside world that a program may replace.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/topology.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {
class thread_budget;
}

/// A fact that a program should know, but that no call could report to it. Without `runtime_options::on_event` the
/// runtime prints the kinds that mean a lack of progress to the standard error.
struct event {
    /// The kinds of events.
    enum class kind : unsigned char {
        // Refusals of the system, and limits: the runtime reports each kind once.
        priority_refused, ///< threads did not get their class or nice value: permission is missing
        binding_refused,  ///< a worker could not be bound to its CPU
        sentinel_refused, ///< SCHED_IDLE is not available: the monitor notices blocked workers, in milliseconds
        no_thread,        ///< the system refused a thread; the manager thread tries again
        cpus_unavailable, ///< a queue lost all CPUs that its attributes name; it uses others
        bh_blocked,       ///< an item of a bottom-half queue blocked; noticed in builds with assertions
        thread_limit,     ///< `max_threads` is reached: pools that need another worker have to wait

        // Lack of progress. Printed without `on_event`.
        stalled,          ///< a pool has started no item, or only later ones, for the time of the watchdog. Each time
        saturated,        ///< all active items of a queue at its limit are blocked, others wait; once for each queue
        deadlock,         ///< items wait for each other; the message names them. Reported each time
        flush_dependency, ///< an item of a queue with a rescuer waits for a queue that has none. Once for each queue

        // Other facts.
        rescued,                ///< a rescuer has begun to run the items of its queue. Once for each queue
        cpu_hog,                ///< an item has kept its CPU too long; `cpu_hog_warning_threshold` limits the reports
        destroyed_while_queued, ///< an item was destroyed while it was queued; noticed in builds with assertions
    };
    kind what;           ///< the kind of this event
    int error;           ///< errno of a refusal; 0: none
    unsigned cpu;        ///< the CPU concerned, or one of them; 0 if there is none
    std::string message; ///< a sentence for people; empty if there was no memory for it
};

/// A clock_source calls it after its time has changed. A runtime attaches one listener to its clock.
class clock_listener {
public:
    /// The time of the clock has changed. The clock calls it on any thread. Returns when the runtime has queued the
    /// items of the timers that are due.
    virtual void time_passed() noexcept = 0;

protected:
    ~clock_listener() = default;
};

/// The clock of timers and idle timeouts. A runtime without one uses CLOCK_MONOTONIC. The source must outlive the
/// runtime.
class clock_source {
public:
    /// Returns the nanoseconds since any fixed moment. It never goes back. Thread safety: any thread.
    [[nodiscard]] virtual std::int64_t now() const noexcept = 0;
    /// Adds a listener: the clock calls its `time_passed()` after every change until `detach()` has returned. The
    /// constructor of the runtime calls it. Errors: any exception; it leaves that constructor.
    virtual void attach(clock_listener& l) = 0;
    /// Removes a listener. No call of its `time_passed()` runs when this returns.
    virtual void detach(clock_listener& l) noexcept = 0;

protected:
    ~clock_source() = default;
};

/// A request of the library to a `thread_source` to start one thread.
class thread_request {
public:
    thread_request(const thread_request&) = delete;
    thread_request& operator=(const thread_request&) = delete;

    /// Starts the thread, at most once. Returns 0, or the errno with which the system refuses it.
    int start() noexcept { return thread_.start(body_, arg_); }
    /// Starts the thread, at most once. The new thread calls `before(context)` first, which must not throw. Returns 0,
    /// or the errno with which the system refuses the thread; nothing is called then.
    int start(void (*before)(void* context), void* context) noexcept {
        return thread_.start(body_, arg_, before, context);
    }

private:
    friend class detail::thread_budget;
    thread_request(detail::thread& t, detail::thread_body body, void* arg) noexcept
        : thread_(t), body_(body), arg_(arg) {}

    detail::thread& thread_;
    const detail::thread_body body_;
    void* const arg_;
};

/// Starts the threads of a runtime. A program that wants to prepare its threads, or to limit them, derives from it. The
/// source outlives the runtime.
class thread_source {
public:
    /// Calls `r.start()` and returns its result, or returns an errno and starts nothing. Any thread may call it. It may
    /// take long: timers still fire meanwhile, and rescuers are still called; items that need another worker may have
    /// to wait. It may queue and cancel items, but must not wait for one, which may need this thread.
    virtual int start(thread_request& r) noexcept = 0;

protected:
    ~thread_source() = default;
};

/// The options of a runtime. Its constructor reads them once. A negative time makes it throw std::invalid_argument.
struct runtime_options {
    /// The name of the runtime in metrics. Empty: a number, which counts the runtimes of the process from 0.
    std::string name = {};

    /// The CPUs that get pools. Empty: the CPUs that the constructing thread may use (on a worker thread: those that
    /// its runtime may use). CPUs that it may not use make the constructor throw std::invalid_argument.
    cpuset cpus = {};

    /// The CPUs on which attribute-keyed queues run their items, and the runtime its timers. Empty: all of `cpus` but
    /// those that the kernel isolates ("isolcpus="). `runtime::set_unbound_cpus()` changes it later. A set that has no
    /// CPU in common with `cpus` makes the constructor throw std::invalid_argument.
    cpuset unbound_cpus = {};

    /// The scope that `affinity_scope::default_` stands for. `runtime::set_default_scope()` changes it later.
    affinity_scope default_scope = affinity_scope::cache_shard;

    /// The number of cores in a pod of the scope `cache_shard`: a last level cache is divided into pods of about that
    /// size. Zero makes the constructor throw std::invalid_argument. With a `machine` the default value stands for
    /// `topology::cache_shard_size()` of that machine.
    unsigned cache_shard_size = topology::default_cache_shard_size;

    /// Whether elastic pools serve the queues with the option `power_efficient`, instead of bound ones.
    bool power_efficient = false;

    /// The machine. None: this machine, as hwloc describes it. With a simulated machine threads are not bound to CPUs,
    /// and there are no sentinels. A machine that lacks a CPU of the runtime makes the constructor throw
    /// std::invalid_argument.
    std::optional<topology> machine = {};

    /// The highest number of workers over all pools; 0: as many as the limits of the queues and the system admit. At
    /// the limit, and where the system refuses threads, an idle pool gives up a worker to a pool that needs one more.
    /// If no worker is idle, items wait, which the runtime reports once, and rescuers run the items of the queues that
    /// have one. With less than twice the number of pools in use, some pools have no spare worker. It must be higher
    /// than the number of items that block until others have run. Rescuers, sentinels, the threads of bottom halves,
    /// the three threads of the runtime itself, and workers that are to end do not count.
    unsigned max_threads = 0;

    /// The time that a surplus worker, beyond those that a pool keeps, may be idle before its thread ends.
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds{300};

    /// The time for which an idle worker of an unbound, elastic or ordered queue polls for its next item before it
    /// sleeps, if its last idle times were about that short. Zero: it sleeps at once.
    std::chrono::nanoseconds idle_poll = std::chrono::microseconds{10};

    /// The time after which a `blocking_region` of the kind `may_block` counts as blocked. Zero: at once.
    std::chrono::nanoseconds may_block_threshold = std::chrono::milliseconds{1};

    /// The CPU time for which an item may compute without a pause. After that it does not count as running, others may
    /// start beside it, and the runtime may report its function, see `cpu_hog_warning_threshold`. Zero: no limit.
    std::chrono::nanoseconds cpu_hog_threshold = std::chrono::milliseconds{10};

    /// The number of times that a function has to exceed `cpu_hog_threshold` before the runtime reports it, as
    /// `event::kind::cpu_hog`. It reports the function again at twice as many times, and so on. Zero: never;
    /// `runtime_stats::cpu_hogs` counts all the same.
    unsigned cpu_hog_warning_threshold = 4;

    /// The time after which a bound or elastic pool starts one item beside the running ones, if these keep its CPUs
    /// busy and the pool has started no item for that long although one could start. After the same time again it
    /// starts two if none of those has ended, then four, up to 16; otherwise one. Zero: items wait for the running
    /// ones.
    std::chrono::nanoseconds overdue_after = std::chrono::milliseconds{20};

    /// The time after which the runtime reports a pool that has started no item although items wait, or of which an
    /// item has waited while all that started had been queued more than 20 ms after it, as `event::kind::stalled`: a
    /// backlog is not reported, however long it is, if it is served in turn. After a third of it the runtime reports a
    /// queue at its limit if all of its active items are blocked, as `event::kind::saturated`. Time in which the
    /// process could not run does not count. Zero: never.
    std::chrono::nanoseconds watchdog = std::chrono::seconds{30};

    /// The time after which the runtime aborts the program if a pool has started no item although items wait, so that a
    /// supervisor starts it again. It first prints why, if anybody reads the standard error. Time in which the process
    /// could not run does not count. Not when a queue stands still at its limit, which includes a blocked ordered
    /// queue, or in a deadlock: see `runtime::stall_report()`. Zero: never.
    std::chrono::nanoseconds abort_on_stall_after = {};

    /// The file to which the runtime writes `runtime::metrics()`, at once and then after each `metrics_interval`;
    /// empty: none. A relative path begins in the folder in which the runtime is made, and `%p` stands for the number
    /// of the process. A reader never sees a part of it: the runtime writes another file in the same folder, and
    /// renames it; symbolic links are followed, and what is no regular file is refused. A failure is printed to the
    /// standard error.
    std::string metrics = {};

    /// The time between two writes of the file. Zero makes the constructor throw std::invalid_argument.
    std::chrono::nanoseconds metrics_interval = std::chrono::seconds{10};

    /// The time between two lines about the state of the runtime on the standard error. Zero: none.
    std::chrono::nanoseconds schedtrace = {};

    /// The file to which a `tracer` writes what happens until the destructor of the runtime begins, or, for `global()`,
    /// until the program calls `exit()`. Empty: none. Path and failures: as for `metrics`; of several processes with
    /// one path, the first has the file. Needs <cmwq/trace.hpp> in any file of the program, or cmwq::compiled on a
    /// machine with Boost; without, a line on the standard error says so.
    std::string trace = {};

    /// The file to which a `flight_recorder` writes the last ten seconds when something hangs. Empty: none. Path,
    /// failures and needs: as for `trace`. `runtime::snapshot_trace()` uses the same recorder.
    std::string flight_recorder = {};

    /// Whether the user of the program may look into the runtime, and change it, from another process: as a
    /// `control_socket`. A failure is printed to the standard error. Needs <cmwq/control.hpp> in any file of the
    /// program, or cmwq::compiled on a machine with nlohmann-json; without, a line on the standard error says so.
    bool control = false;

    /// Whether a thread of the class SCHED_IDLE watches each CPU for workers that block without announcing it. Without
    /// it the monitor notices them, in milliseconds instead of microseconds.
    bool sentinel = true;

    /// Receives every `event`, soon after it has happened. One thread of the runtime calls it, one event after the
    /// other, in their order, without any lock held. It may take long, wait for items, and use the library; but it must
    /// not destroy its runtime. While it runs, no deadlock and no saturated queue is detected, and nothing else waits
    /// for it: if too many events come meanwhile, the later ones are lost, and `runtime_stats::events_lost` counts
    /// them. The destructor of the runtime first waits for the events that have happened before, then ends the threads.
    /// For an event that happens only then, making a queue of this runtime throws std::logic_error. It must not throw.
    std::function<void(const event&)> on_event = {};

    /// The clock of timers and idle timeouts. Null: CLOCK_MONOTONIC. It must outlive the runtime.
    clock_source* clock = nullptr;

    /// Starts the threads of the runtime. Null: the system does. It must outlive the runtime.
    thread_source* threads = nullptr;
};

/// The options that `runtime::set_thresholds()` sets, each as in `runtime_options`.
struct runtime_thresholds {
    std::chrono::nanoseconds may_block_threshold = std::chrono::milliseconds{1}; ///< as in `runtime_options`
    std::chrono::nanoseconds cpu_hog_threshold = std::chrono::milliseconds{10};  ///< as in `runtime_options`
    unsigned cpu_hog_warning_threshold = 4;                                      ///< as in `runtime_options`
    std::chrono::nanoseconds overdue_after = std::chrono::milliseconds{20};      ///< as in `runtime_options`
    std::chrono::nanoseconds watchdog = std::chrono::seconds{30};                ///< as in `runtime_options`
};

}} // namespace cmwq::CMWQ_NS
