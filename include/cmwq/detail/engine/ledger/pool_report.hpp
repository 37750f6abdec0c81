// SPDX-License-Identifier: BSL-1.0
//
// The state of a pool as plain values, for dump(). They are copied under the pool lock; the names of functions and the
// activity of threads are looked up later.
#pragma once

#include <cmwq/detail/base/short_name.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/stats.hpp>

#include <cstddef>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Items that follow one another on a list, with the same function and queue.
struct item_group {
    work_access::function function = nullptr;
    const void* first = nullptr; ///< the address of the first one; it is never dereferenced
    std::size_t count = 0;
    const void* of = nullptr; ///< the address of the queue; it is never dereferenced
    short_name queue;
};

/// Whether a report of items names their queues.
enum class with_queues : unsigned char { no, yes };

/// The items of a list, without those beyond a bound: a list may be long, and it is walked under a lock.
class item_groups {
public:
    /// Throws std::bad_alloc. Called without a lock of the library.
    void reserve() { groups_.reserve(max_groups); }
    /// The same, if add_arrived() will be called.
    void reserve_for_arrived() {
        reserve();
        arrived_.reserve(max_walked);
    }
    void clear() noexcept {
        groups_.clear();
        nr_items_ = nr_more_ = 0;
        complete_ = true;
    }
    /// Appends the items of a list. The lock of its pool is held.
    void add(item_list& items) noexcept;
    /// Appends the items of a pool's inbox, which stay there. The lock of the pool is held.
    void add_arrived(const inbox<work_base, item_tag>& items) noexcept;

    [[nodiscard]] const std::vector<item_group>& groups() const noexcept { return groups_; }
    [[nodiscard]] std::size_t nr_items() const noexcept { return nr_items_; }
    /// How many of the items are in no group.
    [[nodiscard]] std::size_t nr_more() const noexcept { return nr_more_; }
    /// Whether all items were counted: an inbox has no count, and may be longer than the bound.
    [[nodiscard]] bool complete() const noexcept { return complete_; }

private:
    static constexpr std::size_t max_groups = 32, max_walked = 1000;

    [[nodiscard]] bool add(const work_base& w) noexcept;

    std::vector<item_group> groups_;
    std::vector<const work_base*> arrived_; // of one inbox; only during add_arrived()
    std::size_t nr_items_ = 0, nr_more_ = 0;
    bool complete_ = true;
};

/// The run of an item.
struct run_report {
    unsigned worker = 0; ///< numbers the workers of the pool
    long tid = 0;        ///< 0: the thread is not known
    bool is_rescuer = false;
    bool is_guest = false;      ///< the thread is one of the program, which waits for the group of the task
    bool is_nested = false;     ///< it runs inside another item, which waits for it
    bool counted = false;       ///< it counts as running; otherwise it is blocked, or keeps its CPU too long
    const void* item = nullptr; ///< null: the item no longer exists
    work_access::function function = nullptr;
    short_name queue;
    char description[32] = {}; ///< set by this_work::describe()
    std::size_t nr_behind = 0; ///< instances of the item that were queued while it runs

    [[nodiscard]] const char* kind_of_thread() const noexcept {
        return is_rescuer ? "rescuer" : is_guest ? "guest" : "worker";
    }
};

/// The workers of a pool.
struct worker_counts {
    std::size_t idle = 0, workers = 0;
    bool short_of_threads = false; ///< a worker is needed and could not be created
    pool_growth made = {};         ///< by reason, also those that have ended, and those of earlier uses of the pool
    int running = -1;              ///< the workers that count as running; -1: the pool does not count them
    int limit = -1;                ///< the learned limit of active workers; -1: the pool has none
    thread_refusals refused = {};
};

/// The state of one queue in a pool.
struct pwq_report {
    bool locked = false;                    ///< another thread holds the lock of the pool; nothing else is known
    unsigned nr_active = 0, nr_waiting = 0; ///< the active items, and how many of them have not started
    bool frozen = false, plugged = false, mayday = false, detached = false;
    queue_counters counts;
    item_groups inactive;
};

struct pool_report {
    bool locked = false; ///< another thread holds the lock of the pool; nothing else is known
    worker_counts workers;
    std::vector<run_report> runs;
    std::size_t nr_runs = 0;  ///< may exceed the size of `runs` by those that began meanwhile
    std::size_t nr_local = 0; ///< items on the local lists of workers
    item_groups pending;      ///< the worklist, and then the inbox
};

}}} // namespace cmwq::CMWQ_NS::detail
