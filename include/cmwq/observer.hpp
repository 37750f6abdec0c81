// SPDX-License-Identifier: BSL-1.0
//
// observer: the library tells it what happens to each item of a runtime, and to the workers, when it happens.
#pragma once

#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS {

/// Something has happened in a queue. The texts are valid until the observer returns.
struct queue_event {
    std::int64_t time;       ///< CLOCK_MONOTONIC, in nanoseconds
    std::string_view queue;  ///< the name of the queue
    std::string_view policy; ///< the name of its policy
    unsigned pool;           ///< the number of the pool in `runtime::dump()`
};

/// Something has happened to an item.
struct item_event : queue_event {
    const void* item;                  ///< its address, to compare with: the item may be gone
    void (*function)(work_base& self); ///< its function, or that of the task of a group, to compare with
    /// When it has ended: the CPU time of the run, in nanoseconds, without that of items that its thread has run while
    /// it waited. Otherwise 0.
    std::int64_t cpu_time = 0;

    /// Names the function, as `runtime::dump()` does. Takes some microseconds, so it is not for the calls of an
    /// observer: copy the event there, and call this later, when its texts are gone. Errors: std::bad_alloc.
    [[nodiscard]] std::string function_name() const { return detail::name_of_function(function); }
};

/// Something has happened to a worker.
struct worker_event {
    std::int64_t time; ///< CLOCK_MONOTONIC, in nanoseconds
    unsigned pool;     ///< the number of its pool in `runtime::dump()`
    unsigned worker;   ///< its number in the pool; used again when its thread has ended
};

/// How the library knows that an item is blocked.
enum class block_reason : unsigned char {
    announced, ///< by a `blocking_region`
    waiting,   ///< the item waits inside the library: for another one, for a queue or for a group
    sentinel,  ///< the sentinel of a CPU has found it so
    monitor,   ///< the monitor has
};

/// Derive from it, override what is of interest, and attach it: `runtime::attach()`. For one item the calls come in
/// this order: queued, then cancelled; or queued, started, ended, with `blocked` and `unblocked` in between.
///
/// A call comes on the thread on which the event happens, in the middle of the operation, often under locks of the
/// library. Several threads make calls at the same time. So a member must be short, must not block or throw, and must
/// not call the library: it takes a note, as a rule in memory of its thread.
///
/// If an item is queued again just when a run of it starts, the observer may be told that it is queued before it is
/// told of that start: the second `queued` is of the next run.
///
/// An observer of a busy runtime may see an item end that has started before it was attached.
class observer {
public:
    /// The item is pending from now on. For a delayed item that is the end of its delay.
    virtual void queued(const item_event& e) noexcept { static_cast<void>(e); }
    /// The item was taken back before it started, also by shutdown().
    virtual void cancelled(const item_event& e) noexcept { static_cast<void>(e); }
    /// The calling thread is about to call the function of the item.
    virtual void started(const item_event& e) noexcept { static_cast<void>(e); }
    /// The function has returned, or has thrown. The end of a flush comes after this call; `task_group::wait()` may
    /// return before that of a task.
    virtual void ended(const item_event& e) noexcept { static_cast<void>(e); }
    /// The item of the calling thread is about to block. If the sentinel or the monitor has found it blocked, it has
    /// blocked at `e.time`, and the call comes later: before the next call about the item. Nobody knows then when it
    /// went on, and no `unblocked` follows. If the thread has begun another item inside that one since, there is no
    /// call: `queue.stats()` may count more blocks.
    virtual void blocked(const item_event& e, block_reason why) noexcept {
        static_cast<void>(e);
        static_cast<void>(why);
    }
    /// That is over: the end of the last block that was announced, or of the last wait. They may be nested.
    virtual void unblocked(const item_event& e) noexcept { static_cast<void>(e); }

    /// A thread has made a worker, which is idle at first.
    virtual void worker_created(const worker_event& e) noexcept { static_cast<void>(e); }
    /// The calling thread is a worker that has been idle, and is about to start an item.
    virtual void worker_woken(const worker_event& e) noexcept { static_cast<void>(e); }
    /// The calling thread is a worker that ends, because it was idle for too long or the pool has no queue any more.
    virtual void worker_ended(const worker_event& e) noexcept { static_cast<void>(e); }
    /// The pool lacks workers, and calls the rescuer of the queue.
    virtual void mayday(const queue_event& e) noexcept { static_cast<void>(e); }

    /// The runtime reports an event, just before `runtime_options::on_event`, on the same thread.
    virtual void reported(const event& e) noexcept { static_cast<void>(e); }

protected:
    ~observer() = default;
};

}} // namespace cmwq::CMWQ_NS
