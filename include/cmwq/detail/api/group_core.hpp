// SPDX-License-Identifier: BSL-1.0
//
// group_core: the state of a task group, and the item of a task.
#pragma once

#include <cmwq/detail/api/closure_storage.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/work.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class group_core;
class group_task;
struct group_tag;
struct group_sleeper; // a thread that waits for the group
struct running_task;  // a task that a thread runs

// The functions of a task's item, and the operations of a group.
void run_task(work_base& w);
void drop_task(self_owned_work& w) noexcept;
/// Adds a task to its group, and queues it. If it is not queued, the caller still owns it.
queue_status add_task(group_task& t) noexcept;
bool wait_for_group(group_core& g);
void cancel_group(group_core& g) noexcept;
void end_group(group_core& g) noexcept;

/// A closure that counts in its group until it has run.
/// Letters: I constant · T the lock of the group · L the lock of the list that contains the item; after its start, its
/// thread
class group_task : public self_owned_work, public list_node<group_tag> {
public:
    enum class step : unsigned char {
        call,            ///< call the callable; may throw
        end,             ///< destroy the callable
        give_back_memory ///< the task does not exist any more
    };

    /// Where a waiter finds the task until it starts.
    enum class place : unsigned char {
        group_list, ///< on the list of the group
        owner_list, ///< on the local list of the owner of the group
        local_list  ///< on the local list of a worker
    };

    group_core& group;                        // I
    void (*const perform)(group_task&, step); // I
    place where = place::group_list;          // L
    bool listed = false;                      // T: has not started, and no waiter is about to take it
    unsigned nr_examiners = 0;                // T: waiters that access it
    bool ended = false;                       // T: it has ended; the last examiner gives its memory back
    bool beyond_limit = false;                // T: was made active in place of a waiter
    bool within_limit = false;                // T: a waiter has found that it starts without that
    bool starts = false;                      // T: a guest has found that a worker is about to run it

protected:
    group_task(group_core& g, void (*p)(group_task&, step)) noexcept
        : self_owned_work(&run_task, &drop_task, self_owned::task), group(g), perform(p) {}
    ~group_task() = default;
};

/// Letters: I constant · T lock · A atomic · G the lock of the graph of waits · O used by the owner's thread
class group_core {
public:
    explicit group_core(queue_core& q) noexcept : queue(q), owner(this_thread_slots().current_run) {}
    group_core(const group_core&) = delete;
    group_core& operator=(const group_core&) = delete;

    queue_core& queue; // I
    // I: the record of the worker whose item has made the group; null: another thread has made it. An address to
    // compare with
    const run_record* const owner;
    unsigned nr_in_owner = 0; // O: tasks that run under that record, one inside the other
    ranked_mutex<lock_rank::task_group> lock;
    intrusive_list<group_task, group_tag> not_started CMWQ_GUARDED_BY(lock); // T: those that are not unlisted
    // T: tasks that have not ended, and credit of workers, without those that `nr_own` counts
    std::size_t nr_counted CMWQ_GUARDED_BY(lock) = 0;
    group_sleeper* sleepers CMWQ_GUARDED_BY(lock) = nullptr; // T
    std::size_t nr_stuck CMWQ_GUARDED_BY(lock) = 0;          // T: waiters that cannot run a task themselves
    std::size_t nr_beyond_limit CMWQ_GUARDED_BY(lock) = 0;   // T: tasks that run in their places
    unsigned nr_listing CMWQ_GUARDED_BY(lock) = 0;  // T: waiters that must know every task that has not started
    bool searched CMWQ_GUARDED_BY(lock) = false;    // T: while there are any, no task is unlisted any more
    bool incomplete CMWQ_GUARDED_BY(lock) = false;  // T: a task was not run
    std::exception_ptr error CMWQ_GUARDED_BY(lock); // T: the first exception of a task
    running_task* waiting = nullptr;                // G: tasks that run in threads which are in registered waits

    // A: written under T, relaxed.
    atomic<bool> lists_all{false};  // there are such waiters: no task becomes unlisted, and every end takes the lock
    atomic<bool> cancelled{false};  // tasks that have not started will not run
    atomic<bool> has_credit{false}; // a worker has got credit since the last wait() has returned
    atomic<bool> awaited{true};     // the last wait() has returned, and no task was added under the lock since
    atomic<bool> noted{false};      // `error` or `incomplete` is set
    atomic<bool> watched{false};    // a thread that is not the owner waits, or has waited since the owner's last wait()

    // A: written by the owner.
    atomic<std::size_t> nr_own{0}; // tasks that it has added without the lock, less those that it has ended so
    atomic<bool> has_own{false};   // it has added such tasks since the return of its last wait(); relaxed

    inbox<group_task, group_tag> moved; // A: tasks that have left the local lists, on their way to `not_started`
};

/// The task of a callable.
template <class F>
class group_task_of final : public group_task {
public:
    template <class G>
    group_task_of(group_core& g, G&& f) : group_task(g, &perform_step), f_(std::forward<G>(f)) {}
    // The callable is destroyed by `step::end`.
    ~group_task_of() {} // NOLINT(modernize-use-equals-default): a union

    void destroy_callable() noexcept { f_.~F(); }

private:
    static void perform_step(group_task& t, step what) {
        auto& self = static_cast<group_task_of&>(t);
        switch (what) {
        case step::call: static_cast<void>(self.f_()); break;
        case step::end: self.destroy_callable(); break;
        case step::give_back_memory: destroy_closure(&self); break;
        }
    }

    union {
        F f_;
    };
};

}}} // namespace cmwq::CMWQ_NS::detail
