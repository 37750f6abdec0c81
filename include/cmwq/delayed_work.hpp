// SPDX-License-Identifier: BSL-1.0
//
// Work items with a timer.
#pragma once

#include <cmwq/detail/api/duration.hpp>
#include <cmwq/detail/api/work_timer.hpp>
#include <cmwq/work.hpp>

namespace cmwq { inline namespace CMWQ_NS {

/// An item that a queue can run after a delay: `workqueue_base::queue_after()`. All members of `work_base` apply, and
/// treat an armed timer as a pending instance. `workqueue_base::modify()` gives the item a new time. That ends the
/// `flush()` calls of other threads that wait for the pending instance, although it has not run.
class delayed_work_base : public work_base {
protected:
    /// Makes an item that runs `run(*this)`.
    explicit delayed_work_base(function run) noexcept : work_base(run, delayed_tag{}) {}
    ~delayed_work_base() = default;

private:
    friend struct detail::work_access;
    detail::work_timer timer_;
};

/// A delayed item that holds its callable: `work<F>` plus a timer.
///
///     cmwq::delayed_work beat{[&] { send_heartbeat(); }};
///     queue.queue_after(50ms, beat);
template <class F>
class delayed_work : public delayed_work_base {
    static_assert(std::is_invocable_v<F&>, "cmwq::delayed_work: the callable must be callable without arguments");

public:
    /// Takes the callable. Errors: an exception that moving it throws.
    explicit delayed_work(F f) noexcept(std::is_nothrow_move_constructible_v<F>)
        : delayed_work_base(&call), f_(std::move(f)) {}
    /// Cancels the item and its timer, and waits for the running instance, as `work::~work()`.
    ~delayed_work() { end_of_life(); }

private:
    static void call(work_base& w) { static_cast<void>(static_cast<delayed_work&>(w).f_()); }

    F f_;
};

}} // namespace cmwq::CMWQ_NS
