// SPDX-License-Identifier: BSL-1.0
//
// runtime: owner of the pools and their threads. The only public header that compiles the engine.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/delayed_work.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/stats.hpp>
#include <cmwq/topology.hpp>
#include <cmwq/workqueue.hpp>

#include <memory>
#include <string>

namespace cmwq::inline CMWQ_NS {

namespace detail {
class runtime_core;
enum class made_for : bool;
} // namespace detail

/// Owns the pools, the timers and every thread of the queues that are made on it. Most programs use `global()`, which
/// queues take by themselves.
///
/// Threads: two of its own, the service thread and the staff thread; for each CPU and priority on which an item of a
/// bound queue was ever queued at least two workers; as many for each pool of the other queues that is used; an idle-class
/// sentinel for each CPU where items of bound or elastic queues may run; one more for each CPU that had bottom halves left
/// over. While nothing is pending none of them makes a system call.
///
/// All members may be called from any thread.
class runtime {
public:
    /// Errors: std::invalid_argument for impossible options, std::system_error if no thread can be made,
    /// std::bad_alloc.
    explicit runtime(runtime_options options = {});
    /// Ends and joins all threads. Its queues are destroyed before, and calls that queue on them have returned. A queue
    /// that is left terminates the program, with its name on stderr. Blocks until queues have drained that were destroyed by their own items.
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// The process-wide runtime, made on first use with the options that `configure_global()` and the environment
    /// variable CMWQ give it, and never destroyed. A forked child makes a new one. It may use the CPUs of the process's
    /// main thread, whatever the first user is bound to.
    ///
    /// CMWQ is for who starts the program, and overrides what the program says: `CMWQ=watchdog=10s,cpus=0-3+8` sets the
    /// options of these names; see docs/tuning.md. A program with other rights than its user's (setuid) does not look at
    /// it, nor do runtimes of a program's own. It is read at the first use: setenv() has to come before that.
    /// Errors: as the constructor; std::invalid_argument also for a text in CMWQ that says nothing sensible. The next use
    /// tries again.
    [[nodiscard]] static runtime& global();

    /// The options of `global()`, to be said before anything uses it: system queues and queues without a runtime do. The
    /// last call counts. A forked child has what its parent said, and may say something else before its own first use.
    /// Any thread. Errors: std::logic_error after the first use in this process, std::invalid_argument for options that
    /// no machine can have, std::bad_alloc; nothing changed then. What is impossible on this machine `global()` reports.
    ///
    ///     int main() { cmwq::runtime::configure_global({.power_efficient = true}); ... }
    static void configure_global(runtime_options options);

    /// The CPUs that have pools.
    [[nodiscard]] const cpuset& cpus() const noexcept;

    /// The CPUs on which attribute-keyed queues run their items, and the runtime its timers: at first
    /// `runtime_options::unbound_cpus`.
    [[nodiscard]] cpuset unbound_cpus() const;
    /// Changes that set, and with it the pools of every such queue, as `apply()` does: nothing is lost, nothing runs
    /// twice, order is kept. A queue of whose own CPUs none is left gets all that there are; that is reported through
    /// `on_event`. Bound queues and bottom halves stay where they are.
    /// Blocks: while other threads are in the middle of queueing, not for items.
    /// Errors: std::invalid_argument if the runtime can use none of them, std::bad_alloc; nothing changed.
    void set_unbound_cpus(const cpuset& cpus);

    /// What `affinity_scope::default_` stands for.
    [[nodiscard]] affinity_scope default_scope() const;
    /// Changes that, for live queues, too. Blocks and errors: as `set_unbound_cpus()`. `default_` itself is
    /// `cache_shard`.
    void set_default_scope(affinity_scope scope);

    /// The machine with its caches and NUMA nodes, as far as the runtime uses it. Read at the first call, or with the
    /// first attribute-keyed queue. Errors: std::bad_alloc.
    [[nodiscard]] const topology& machine() const;

    /// Looks at once which CPUs there are, and adapts if some have come or gone: see docs/topology.md. The runtime
    /// notices by itself, too, while it has something to do. Errors: std::bad_alloc; then it tries again later.
    void refresh_topology();

    /// Stops the queues with the option `freezable`: what is active, that is, running or next in line, runs out, and
    /// nothing else starts until the thaw; queueing goes on, in order. Returns at once. Freezes nest.
    /// Waiting for a frozen queue (flush, drain, its destructor) waits for the thaw. Errors: none.
    void freeze();
    /// Whether the freezable queues are frozen and nothing of them runs any more.
    [[nodiscard]] bool frozen() const noexcept;
    /// Waits for that. False if somebody has thawed them instead, or nobody has frozen them. Blocks: for the active items.
    /// Errors: std::system_error(resource_deadlock_would_occur) from inside an item of a freezable queue,
    /// std::system_error(operation_not_permitted) from inside a bottom half.
    bool wait_frozen();
    /// The same for so long at most; false if that was not enough.
    template <detail::duration_like Duration>
    bool wait_frozen_for(const Duration& time) {
        return wait_frozen_for_ns(detail::to_ns(time));
    }
    /// Takes back one `freeze()`; the last one lets the items run, in the order in which they were queued.
    /// Errors: std::logic_error without a matching `freeze()`; nothing changed.
    void thaw();

    /// Counters over all queues, taken pool by pool.
    [[nodiscard]] runtime_stats stats() const noexcept;

    /// What there is right now, for people to read: the pods of all affinity scopes, the pools with what the system
    /// refused to their threads, which pool serves which CPU of which queue, and the limits of the attribute-keyed
    /// queues by node. The form is that of the kernel's wq_dump and may change. Errors: std::bad_alloc.
    [[nodiscard]] std::string dump() const;

    [[nodiscard]] detail::runtime_core& core() const noexcept { return *core_; } ///< for the engine

private:
    runtime(runtime_options options, detail::made_for whom);
    static runtime* make_global();
    bool wait_frozen_for_ns(std::int64_t ns);

    std::unique_ptr<detail::runtime_core> core_;
};

/// Freezes the freezable queues of a runtime, and waits until they are frozen; its end thaws them. While one of these
/// lives none of their items runs, so that its owner may call `fork()`: no item holds a lock or has half-written
/// something that the child needs. What the child inherits of the runtime does nothing there, as after any `fork()`.
///
///     { cmwq::freeze_guard still{rt}; pid = ::fork(); }
class freeze_guard {
public:
    /// Errors: as `runtime::wait_frozen()`; not frozen then.
    [[nodiscard]] explicit freeze_guard(runtime& rt);
    ~freeze_guard();
    freeze_guard(const freeze_guard&) = delete;
    freeze_guard& operator=(const freeze_guard&) = delete;

private:
    runtime& runtime_;
};

} // namespace cmwq::inline CMWQ_NS

#ifndef CMWQ_COMPILED
#include <cmwq/engine.hpp>
#endif
