// SPDX-License-Identifier: BSL-1.0
//
// The graph of waits: which items wait inside the library, for which items, queues or task groups, and whether they
// wait for each other. A thread that runs no item is not in it, because no wait depends on that thread.
// docs/dev/architecture.md describes how deadlocks are detected.
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/waits/wait_report.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct group_sleeper;
struct pool_env;
class group_core;
class queue_face;
class deadlock_check;
struct wait_tag;

/// A function of the library that waits.
struct wait_call {
    const char* name; ///< in diagnoses
    bool may_throw;   ///< it may throw instead of waiting for ever
    bool of_pending;  ///< it also waits for pending items, which need a thread; false: only for running ones
};

/// One wait of an item for an item, for the items of a queue, or for the tasks of a group. Lives on the stack of the
/// waiting thread. Made after the waiter has been registered in the pools of everything that it waits for, and before
/// the thread sleeps. Only that thread makes and destroys it.
///
/// Letters: I set before the wait is registered · G the lock of the graph
class registered_wait : public list_node<wait_tag> {
public:
    /// Registers the wait. If it closes a cycle of runs, and the call may throw, takes `iw` or the nodes off the lists
    /// of their pools, and throws std::system_error(resource_deadlock_would_occur). If the call may not throw, reports
    /// the cycle as an event. `pool_id`: the pool in which `iw` is registered.
    registered_wait(wait_call by, const item_name& item, item_waiter& iw, std::uint64_t pool_id);
    /// As above, for a queue. `nodes`: `n` of them, one in each pwq that has awaited items.
    registered_wait(wait_call by, const queue_face& q, color_waiter* nodes, unsigned n);
    /// As above, for a group whose queue is `q`. The caller takes `s` off the group after an exception.
    registered_wait(wait_call by, const queue_face& q, group_core& g, const group_sleeper& s);
    ~registered_wait();
    registered_wait(const registered_wait&) = delete;
    registered_wait& operator=(const registered_wait&) = delete;

private:
    friend class wait_graph;
    friend class deadlock_check;

    void enter();
    void check_rescue() noexcept;
    void stop_waiting() noexcept;

    const wait_call by_;              // I
    run_record* const self_;          // I: the innermost run of the thread; null: it runs no item: not registered
    const item_name who_;             // I
    const item_name item_;            // I
    item_waiter* const iw_ = nullptr; // I: null: for a queue
    const std::uint64_t pool_id_ = 0; // I: the pool in which `iw_` is registered
    const queue_face* const queue_ = nullptr;      // I
    color_waiter* const nodes_ = nullptr;          // I
    const unsigned nr_nodes_ = 0;                  // I
    group_core* const group_ = nullptr;            // I: `queue_` is its queue
    const group_sleeper* const sleeper_ = nullptr; // I

    std::int64_t since_ = 0;          // G: steady clock
    std::int64_t stuck_since_ = 0;    // G: all checks since this one have found it stuck; 0: the last one did not
    bool reported_ = false;           // G
    registered_wait* link_ = nullptr; // G: of the list of waits that a search has still to visit
    registered_wait* from_ = nullptr; // G: the wait from which the search came
    std::uint64_t mark_ = 0;          // G: the last search that has visited it
    std::uint32_t node_ = 0;          // G: its number in a deadlock_check
};

/// All registered waits of the process. Any thread may call every member that does not say otherwise. While the lock of
/// the graph is held, no registered thread continues. That lock is taken before all others.
class wait_graph {
public:
    constexpr wait_graph() noexcept {}
    wait_graph(const wait_graph&) = delete;
    wait_graph& operator=(const wait_graph&) = delete;

    /// Constant-initialized and never destroyed, because items may be destroyed after everything else.
    static constexpr wait_graph& get() noexcept { return the_one_; }
    /// Called in a forked child, which has no waits. The waits of the parent, and the lock, may be in any state.
    void forget_all() noexcept CMWQ_NO_TSA {
        new (&lock_) ranked_mutex<lock_rank::graph>;
        new (&waits_) intrusive_list<registered_wait, wait_tag>;
    }

    /// For dump(): appends the waits of the items of this runtime to `to`, the oldest first. False: the graph was
    /// locked until `deadline`, steady clock. Throws std::bad_alloc.
    [[nodiscard]] static bool waits_of(const pool_env& env, std::vector<wait_report>& to, std::int64_t deadline);

private:
    friend class registered_wait;
    friend class deadlock_check;

    /// From the registration of a wait to its first check, and at least from the first check that finds it stuck to the
    /// one that reports it; nanoseconds. Most waits are shorter, and a transient state ends meanwhile.
    static constexpr std::int64_t patience = 100'000'000;

    [[nodiscard]] static bool belongs_to(const registered_wait& r, const pool_env& env) noexcept;
    [[nodiscard]] registered_wait* find_cycle_locked(registered_wait& start) noexcept CMWQ_REQUIRES(lock_);
    void enlist_locked(registered_wait& r) noexcept CMWQ_REQUIRES(lock_);
    void delist_locked(registered_wait& r) noexcept CMWQ_REQUIRES(lock_);
    static void request_check_locked(const registered_wait& r) noexcept;
    [[nodiscard]] static wait_report report_of_locked(const registered_wait& r);
    [[nodiscard]] std::vector<wait_report> report_cycle_locked(registered_wait& last) const CMWQ_REQUIRES(lock_);
    // Calls f(worker&) for each run that must end before the wait can end, and that waits itself. For a flush or a
    // group, skips the runs for which this search has called `f` before.
    template <class F>
    static void for_each_waiting_run_locked(registered_wait& r, std::uint64_t search, F&& f) noexcept;

    static wait_graph the_one_;

    ranked_mutex<lock_rank::graph> lock_;
    std::uint64_t search_ CMWQ_GUARDED_BY(lock_) = 0;
    intrusive_list<registered_wait, wait_tag> waits_ CMWQ_GUARDED_BY(lock_); // newest first
};

inline constinit wait_graph wait_graph::the_one_;

}}} // namespace cmwq::CMWQ_NS::detail
