// SPDX-License-Identifier: BSL-1.0
//
// task_group: fork and join on a queue.
#pragma once

#include <cmwq/detail/api/closure_storage.hpp>
#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/workqueue.hpp>

#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

/// Runs tasks on a queue, and waits for all of them. Groups nest to any depth: an item that waits for its tasks runs
/// them itself meanwhile, and stays within the limit of the queue. It needs another thread only when the waits on its
/// stack have used 512 KiB, or half of a smaller stack.
///
///     int sum(std::span<const int> part) {
///         if (part.size() < 1000) return std::reduce(part.begin(), part.end());
///         int left = 0;
///         cmwq::task_group halves{queue};
///         halves.run([&] { left = sum(part.first(part.size() / 2)); });
///         const int right = sum(part.subspan(part.size() / 2));
///         halves.wait();
///         return left + right;
///     }
///
/// A task is a closure as that of `workqueue_base::post()`, with these differences. Its exceptions go to `wait()`. It
/// has no place in the start order of the queue, unless the queue is ordered. If `wait()` runs it in the item that
/// waits, it is a part of the run of that item: `this_work::current()` returns that item. A caller of `wait()` must not
/// hold a mutex that a task locks. A wait in an item of a freezable queue runs its tasks also during a freeze, which
/// waits for that item. A wait in an item of a bound queue runs only tasks of the CPU of that item. Tasks are on
/// another CPU if a thread there has added them; they wait for the limit of the queue on that CPU like other items.
///
/// Thread safety: all members but the destructor may be called from any thread, concurrently, also from the tasks,
/// unless they state otherwise.
class task_group {
public:
    /// Makes a group without tasks on `q`, whose items may block. The queue must outlive the group. Allocates nothing.
    template <class Policy>
        requires(Policy::may_block)
    explicit task_group(workqueue<Policy>& q) noexcept : core_(q.core()) {
        detail::check_queue_of_group(core_.queue);
    }
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    /// Waits for the tasks as `wait()`, and ignores their exceptions. Blocks: yes. Errors: where `wait()` would throw
    /// std::system_error it prints a message and ends the program by std::terminate().
    ~task_group() { detail::end_group(core_); }

    /// Runs a copy of the callable once, as a task of this group. With any result but `queued`, from a queue that
    /// drains or has been shut down, the copy has been destroyed without a run, and the next `wait()` returns false.
    /// Ordering and blocking: as `workqueue_base::queue()`, but it may take the lock of the group. Errors: an exception
    /// that copying the callable throws, std::bad_alloc; nothing has changed then.
    template <detail::nullary F>
    queue_status run(F&& f) {
        using task = detail::group_task_of<std::decay_t<F>>;
        task* const t = detail::make_closure<task>(core_.queue, core_, std::forward<F>(f));
        const queue_status s = detail::add_task(*t);
        if (s != queue_status::queued) {
            t->destroy_callable();
            detail::destroy_closure(t);
        }
        return s;
    }

    /// Waits until all tasks have ended, also those that tasks add meanwhile. In an item of the same queue it runs
    /// tasks that have not started, unless the queue is ordered, or a `bh_disable_guard` of the thread holds bottom
    /// halves back. A thread that runs no item does so on unbound and elastic queues whose `attrs` set nothing, within
    /// the limit, as a worker beside the others, but with its own CPUs and signals; not if it has less priority than
    /// the process, or less than 256 KiB of stack left. It is not cancelled in a task. Afterwards the group can be used
    /// again. Returns whether every task has run: false after a `cancel()`, if `workqueue::shutdown()` has dropped
    /// tasks, or if the queue has rejected one in `run()`.
    ///
    /// If several threads wait, one of them gets the exception, or the false.
    ///
    /// Ordering: the runs happen before the return. Blocks: yes. Errors: the first exception that a task has thrown,
    /// after all tasks have ended. std::system_error(resource_deadlock_would_occur) in a task of this group, in an item
    /// of the same queue if that is ordered, and in an item for whose end a task waits, over any number of waits inside
    /// the library; std::system_error(operation_not_permitted) in a bottom half. The group is unchanged then, but in
    /// the third case the call may have run tasks, whose exceptions go to the next `wait()`. Tasks that have not ended
    /// would then end the program in the destructor, also after a `cancel()`: let another thread destroy the group, or
    /// use a queue for its tasks that is not the ordered one of the item. A task that is pending at a limit behind
    /// items which wait for the caller is reported as the event `deadlock`.
    bool wait() { return detail::wait_for_group(core_); }

    /// Tasks that have not started will not run, until the next `wait()` has returned. Does not wait. Blocks: no.
    /// Errors: none, never throws.
    void cancel() noexcept { detail::cancel_group(core_); }

private:
    detail::group_core core_;
};

}} // namespace cmwq::CMWQ_NS
