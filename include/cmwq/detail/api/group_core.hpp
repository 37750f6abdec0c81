// SPDX-License-Identifier: BSL-1.0
//
// group_core: the state of a task group, and the item of a task.
#pragma once

#include <cmwq/detail/api/closure_storage.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/work.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class group_core;
class group_task;
struct group_tag;
struct group_sleeper; // a thread that waits for the group

// The functions of a task's item, and the operations of a group.
void run_task(work_base& w);
void drop_task(self_owned_work& w) noexcept;
/// Adds a task to its group, and queues it. If it is not queued, the caller still owns it.
queue_status add_task(group_task& t) noexcept;
bool wait_for_group(group_core& g);
void cancel_group(group_core& g) noexcept;
void end_group(group_core& g) noexcept;

/// A closure that counts in its group until it has run. It is on the list of the group until it starts.
/// Letters: I constant · T the lock of the group
class group_task : public self_owned_work, public list_node<group_tag> {
public:
    enum class step : unsigned char {
        call,            ///< call the callable; may throw
        end,             ///< destroy the callable
        give_back_memory ///< the task does not exist any more
    };

    group_core& group;                        // I
    void (*const perform)(group_task&, step); // I
    bool listed = false;                      // T: has not started, and no waiter is about to take it
    unsigned nr_examiners = 0;                // T: waiters that access it
    bool ended = false;                       // T: it has ended; the last examiner gives its memory back
    bool beyond_limit = false;                // T: was made active in place of a waiter

protected:
    group_task(group_core& g, void (*p)(group_task&, step)) noexcept
        : self_owned_work(&run_task, &drop_task), group(g), perform(p) {}
    ~group_task() = default;
};

/// Letters: I constant · T lock
class group_core {
public:
    using queue_function = queue_status (*)(queue_core& q, work_base& w, int cpu) noexcept;

    group_core(queue_core& q, queue_function f) noexcept : queue(q), put(f) {}
    group_core(const group_core&) = delete;
    group_core& operator=(const group_core&) = delete;

    queue_core& queue;        // I
    const queue_function put; // I: queues an item, by the policy of the queue
    ranked_mutex<lock_rank::task_group> lock;
    intrusive_list<group_task, group_tag> not_started CMWQ_GUARDED_BY(lock); // T
    std::size_t nr_unfinished CMWQ_GUARDED_BY(lock) = 0;                     // T: tasks that have not ended
    group_sleeper* sleepers CMWQ_GUARDED_BY(lock) = nullptr;                 // T
    std::size_t nr_stuck CMWQ_GUARDED_BY(lock) = 0;        // T: waiters that cannot run a task themselves
    std::size_t nr_beyond_limit CMWQ_GUARDED_BY(lock) = 0; // T: tasks that run in their places
    // The last wait() has returned, and no task was added since. Written under T; the destructor reads it without T,
    // because it is the last one to use the group.
    bool awaited = true;
    bool cancelled CMWQ_GUARDED_BY(lock) = false;   // T: tasks that have not started will not run
    bool incomplete CMWQ_GUARDED_BY(lock) = false;  // T: a task was not run
    std::exception_ptr error CMWQ_GUARDED_BY(lock); // T: the first exception of a task
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
