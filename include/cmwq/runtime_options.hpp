// SPDX-License-Identifier: BSL-1.0
//
// What a runtime is made of: tunables, and the parts of the outside world that a program may replace.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/topology.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cmwq::inline CMWQ_NS {

/// Something that a program should know, and that happened at a distance from any call that could have reported it.
/// Without `runtime_options::on_event` the kinds that tell of a program that hangs are printed to the standard error.
struct event {
    enum class kind : unsigned char {
        // What the system refuses: each kind once per runtime.
        priority_refused, ///< high or fifo workers run as normal ones: permission is missing
        binding_refused,  ///< a worker could not be bound to its CPU
        sentinel_refused, ///< SCHED_IDLE is not available: blocked workers are noticed by the monitor, in milliseconds
        no_thread,        ///< a worker could not be made; the staff thread goes on trying
        cpus_unavailable, ///< a queue lost all CPUs that its attributes name, and uses others
        bh_blocked,       ///< the item of a bottom-half queue waited for something; noticed in builds with assertions
        thread_limit,     ///< `max_threads` is reached: who needs one more worker waits for it

        // What does not get on. Printed if nobody is told.
        stalled,          ///< a pool has started nothing for the time of the watchdog; what its workers do. Each time
        saturated,        ///< all that a queue's limit lets run is blocked, and more waits. Once for each queue
        deadlock,         ///< items wait for each other; which ones. Each time
        flush_dependency, ///< an item of a queue with a rescuer waits for a queue that has none. Once for each queue

        // What should be known.
        rescued,                ///< a rescuer has begun to run the items of its queue. Once for each queue
        cpu_hog,                ///< an item has kept its CPU for too long, as often as `cpu_hog_warning_threshold` says
        destroyed_while_queued, ///< an item was destroyed while it was queued; noticed in builds with assertions
    };
    kind what;
    int error;           ///< errno of the refusal; 0: none
    unsigned cpu;        ///< where
    std::string message; ///< a sentence for people
};

/// Told by a clock_source that its time has changed.
class clock_listener {
public:
    virtual void time_passed() noexcept = 0;

protected:
    ~clock_listener() = default;
};

/// The clock of timers and idle timeouts. A runtime without one uses CLOCK_MONOTONIC. The source outlives the runtime.
class clock_source {
public:
    /// Nanoseconds since any fixed moment; never goes back. Any thread.
    [[nodiscard]] virtual std::int64_t now() const noexcept = 0;
    /// After `attach()` the listener is told of every change, until `detach()` has returned.
    virtual void attach(clock_listener& l) = 0;
    virtual void detach(clock_listener& l) noexcept = 0;

protected:
    ~clock_source() = default;
};

/// Starts the threads of a runtime. The source outlives the runtime.
class thread_source {
public:
    /// Calls `t.start(body, arg)` and returns what it returned, or an errno without starting anything. Any thread. It may
    /// take its time: timers fire meanwhile, and rescuers are called. What needs another thread may wait for it.
    virtual int start(detail::thread& t, detail::thread_body body, void* arg) noexcept = 0;

protected:
    ~thread_source() = default;
};

/// How a runtime behaves. All values are read once, by its constructor.
struct runtime_options {
    /// The CPUs that get pools. Empty: those that the constructing thread may use (on a worker: that its runtime was
    /// allowed to use). CPUs that it may not use make the
    /// constructor throw std::invalid_argument.
    cpuset cpus = {};

    /// The CPUs on which attribute-keyed queues run their items, and the runtime its timers. Empty: all of `cpus` but
    /// those that the kernel isolates ("isolcpus="). May be changed later. A set that has no CPU in common with `cpus`
    /// makes the constructor throw std::invalid_argument.
    cpuset unbound_cpus = {};

    /// What `affinity_scope::default_` stands for. May be changed later.
    affinity_scope default_scope = affinity_scope::cache_shard;

    /// How many cores a pod of the scope `cache_shard` is to have: a last level cache is divided into pods of about that
    /// size. Zero makes the constructor throw std::invalid_argument. With a `machine` the default stands for what that
    /// one says.
    unsigned cache_shard_size = topology::default_cache_shard_size;

    /// Whether queues with the option `power_efficient` are served by elastic pools instead of bound ones.
    bool power_efficient = false;

    /// The machine; none: this one, as hwloc finds it. With one that is only simulated threads are not bound to CPUs,
    /// and there are no sentinels. One that does not have all CPUs of the runtime makes the constructor throw
    /// std::invalid_argument.
    std::optional<topology> machine = {};

    /// How many workers there may be, over all pools; 0: as many as the limits of the queues and the system admit. Who
    /// needs one more gets one that is idle in another pool. Otherwise items wait, which is reported once, and those of
    /// queues with a rescuer are run by it. Less than twice the number of pools in use leaves pools without a spare
    /// worker. Rescuers, sentinels, the threads of bottom halves, and the runtime's own two do not count, nor
    /// does a worker that has been told to end.
    unsigned max_threads = 0;

    /// How long a worker beyond those that a pool keeps may be idle before its thread ends.
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds{300};

    /// A `may_block` region counts as blocked once it has lasted so long. Zero: at once.
    std::chrono::nanoseconds may_block_threshold = std::chrono::milliseconds{1};

    /// How long an item may compute without a pause, in CPU time. After that it does not count as running, others may
    /// start beside it, and its function may be reported, see below. Zero: as long as it likes.
    std::chrono::nanoseconds cpu_hog_threshold = std::chrono::milliseconds{10};

    /// At how many such times a function is reported, as `event::kind::cpu_hog`; and then at twice as many, and so on.
    /// Zero: never; they are counted all the same.
    unsigned cpu_hog_warning_threshold = 4;

    /// How long a bound or elastic pool may start nothing although an item could start, because others keep its CPUs
    /// busy. Then one more starts beside them, and another one after as much time again. Zero: it waits for the others.
    std::chrono::nanoseconds overdue_after = std::chrono::milliseconds{20};

    /// A pool in which items wait, and that has started none for so long, is reported as `event::kind::stalled`; a queue
    /// at its limit, all of whose items have been blocked for a third of it, as `saturated`. Time in which the process
    /// could not run does not count. Zero: nobody looks.
    std::chrono::nanoseconds watchdog = std::chrono::seconds{30};

    /// Whether an idle-class thread watches each CPU for workers that block unannounced. Without it the monitor notices
    /// them, in milliseconds instead of microseconds.
    bool sentinel = true;

    /// Called for every `event`, on a thread of the runtime or one that runs its bottom halves, without any lock held; for
    /// events of different kinds also at the same time. It must not throw; while it runs, timers and the making of
    /// workers may wait. `deadlock` (but for that of a destructor) and `saturated` come from a thread that does nothing
    /// but look for them.
    std::function<void(const event&)> on_event = {};

    /// The clock of timers and idle timeouts; null: CLOCK_MONOTONIC.
    clock_source* clock = nullptr;

    /// Who starts threads; null: the system.
    thread_source* threads = nullptr;
};

} // namespace cmwq::inline CMWQ_NS
