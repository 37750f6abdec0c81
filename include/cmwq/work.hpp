// SPDX-License-Identifier: BSL-1.0
//
// Work items: objects that never move and hold everything that a queue needs, so that queueing never allocates.
#pragma once

#include <cmwq/detail/api/member_class.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine_ops.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {

class pool_workqueue;
struct item_tag;
struct work_access; // gives the engine access to the private parts of an item

using item_node = list_node<item_tag>;

} // namespace detail

/// A work item: a function that runs on a worker once for each time that it was made pending. It has 48 bytes, and
/// cannot be copied or moved. The function comes from a derived class: `work<F>`, `work_member<&C::f>`,
/// `delayed_work<F>`.
///
/// An item never runs twice at the same time on one queue, nor on bound queues of one runtime and priority. Every
/// successful `workqueue_base::queue()` is followed by a run that sees everything written before the call. Several
/// calls before that run result in one run. An item that is queued on another queue while it runs may run on both at
/// the same time.
///
/// Thread safety: all members may be called from any thread, concurrently, also from work functions. None of them
/// allocates.
class work_base : private detail::item_node {
public:
    work_base(const work_base&) = delete;
    work_base& operator=(const work_base&) = delete;

    /// Waits until the instance queued last has run: the pending one, or if there is none, the running one. A
    /// `cancel()` of the pending instance, or a `workqueue_base::modify()`, also ends the wait; that instance has not
    /// run then. If a timer is armed, queues the item at once.
    ///
    /// In an item of an elastic queue the call runs a pending item of the same pool itself, as an item inside the one
    /// that waits, also beyond the limit of its queue, and in a freeze if both are items of one queue. An item of
    /// another thread's run, of another frozen queue or of another pool is waited for.
    ///
    /// Returns whether the item was pending or running. Ordering: the run happens before the return. Blocks: yes.
    /// Errors: std::system_error(resource_deadlock_would_occur) from inside the item itself,
    /// std::system_error(operation_not_permitted) from inside a bottom half.
    bool flush() { return detail::flush_work(*this); }

    /// Cancels a pending instance, armed timers included. Does not wait for a running one. Returns whether there was a
    /// pending one. Blocks: only while another thread is in the middle of queueing this item. Errors: none, never
    /// throws.
    bool cancel() noexcept { return detail::cancel_work(*this); }

    /// Cancels a pending instance as `cancel()`, then waits for the running one. During the call queueing the item
    /// returns `disabled`, so on return the item is neither pending nor running, unless another thread has queued it
    /// since. Returns whether an instance was pending. Ordering: a run that had begun happens before the return.
    /// Blocks: yes. Errors: std::system_error(resource_deadlock_would_occur) from inside the item itself,
    /// std::system_error(operation_not_permitted) from inside a bottom half, std::length_error at a disable depth of
    /// 65535, because it needs one level; nothing changed then.
    bool cancel_sync() { return detail::cancel_work_sync(*this); }

    /// Adds one to the disable depth. While the depth is not zero, queueing the item returns `disabled`. Cancels a
    /// pending instance as `cancel()`, and returns whether there was one. Blocks: as `cancel()`. Errors:
    /// std::length_error at a depth of 65535; nothing changed then.
    bool disable() { return detail::disable_work(*this); }

    /// Disables as `disable()`, then waits for the running instance. Ordering: as `cancel_sync()`. Blocks: yes. Errors:
    /// as `disable()` and `cancel_sync()`.
    bool disable_sync() { return detail::disable_work_sync(*this); }

    /// Subtracts one from the disable depth. Returns whether the item can be queued again. Does not queue it. Blocks:
    /// no. Errors: std::logic_error without a matching `disable()`; nothing changed then.
    bool enable() { return detail::enable_work(*this); }

    /// Whether an instance waits to run, or a timer is armed. A snapshot.
    // [PEND-3] pairs [PEND-2].
    [[nodiscard]] bool pending() const noexcept { return (state_.load(detail::acquire) & pending_bit) != 0; }

    /// Whether the item is pending or running. A snapshot.
    [[nodiscard]] bool busy() const noexcept { return pending() || detail::work_running(*this); }

protected:
    /// The function of an item, which gets the item.
    using function = void (*)(work_base&);

    /// Makes an item that runs `run(*this)`.
    explicit work_base(function run) noexcept : run_(run) {}
    ~work_base() = default;

    /// For `delayed_work_base`.
    struct delayed_tag {};
    /// For `delayed_work_base`.
    work_base(function run, delayed_tag) noexcept : state_(delayed_bit), run_(run) {}
    /// For the closures of `workqueue_base::post()`, and for tasks.
    enum class self_owned : bool { closure, task };
    /// For the closures of `workqueue_base::post()`, and for tasks.
    work_base(function run, self_owned what) noexcept
        : state_(what == self_owned::task ? self_owned_bit | task_bit : self_owned_bit), run_(run) {}

    /// Cancels the item and waits for the running instance. The destructor of a derived class that holds a callable
    /// must call it first, before the callable is destroyed. An item that was never queued costs two loads.
    // PENDING first: an item that a timer has queued gets its location before it loses PENDING, and [PEND-2]
    // shows the location to any thread that finds PENDING gone.
    void end_of_life() noexcept {
        if (pending() || location_.load(detail::relaxed) != 0) detail::end_of_work(*this);
    }

private:
    friend struct detail::work_access;
    template <class, class>
    friend class detail::intrusive_list;
    template <class, class>
    friend class detail::inbox;

    // Only read-modify-writes change the state word, so that a losing queue() publishes its writes, too [PEND-1].
    static constexpr std::uint32_t pending_bit = 1u;
    static constexpr std::uint32_t delayed_bit = 2u;    // constant: the item is a delayed_work_base
    static constexpr std::uint32_t self_owned_bit = 4u; // constant: the item is a self_owned_work
    static constexpr std::uint32_t task_bit = 8u;       // constant: the item is a group_task
    static constexpr std::uint32_t depth_one = 1u << 8;
    static constexpr std::uint32_t depth_mask = 0xffffu << 8;

    detail::atomic<std::uint32_t> state_{0};
    std::uint32_t queued_at_ = 0;               // written and read as pwq_: wait_stamp.hpp
    detail::atomic<std::uint64_t> location_{0}; // where it is or was last: work_access::location
    function run_;
    detail::pool_workqueue* pwq_ = nullptr; // I while pending: the target, written by the owner of PENDING
};

static_assert(CMWQ_SYNC != 0 || sizeof(work_base) <= 48, "an item is cheap to embed");

namespace detail {

/// An item that owns itself: it is destroyed by its run, or when it is dropped.
class self_owned_work : public work_base {
protected:
    using dropper = void (*)(self_owned_work&) noexcept;
    self_owned_work(function run, dropper drop, self_owned what) noexcept : work_base(run, what), drop_(drop) {}
    ~self_owned_work() = default;

private:
    friend struct work_access;
    dropper drop_;
};

} // namespace detail

/// An item that holds its callable. The worker calls it without arguments and ignores its result.
///
/// The callable may destroy the item: the library does not touch an item after its function has been entered.
/// Destroying an item otherwise cancels it and waits for the running instance, as `cancel_sync()`.
///
///     cmwq::work hello{[] { greet(); }};
///     queue.queue(hello);
template <class F>
class work : public work_base {
    static_assert(std::is_invocable_v<F&>, "cmwq::work: the callable must be callable without arguments");

public:
    /// Takes the callable. Errors: an exception that moving it throws.
    explicit work(F f) noexcept(std::is_nothrow_move_constructible_v<F>) : work_base(&call), f_(std::move(f)) {}
    /// Cancels the item and waits for the running instance, except inside its own function. Blocks: yes.
    ~work() { end_of_life(); }

private:
    static void call(work_base& w) { static_cast<void>(static_cast<work&>(w).f_()); }

    F f_;
};

/// An item that calls a member function of the object that owns it. Declare it last: it is then destroyed first, and
/// no run sees a half-destroyed owner.
///
///     cmwq::work_member<&page_cache::evict> evict_{*this};
template <auto Member>
class work_member : public work_base {
    using owner = typename detail::member_class<decltype(Member)>::type;

public:
    /// Makes an item that calls the member function of `o`, which must outlive the item.
    explicit work_member(owner& o) noexcept : work_base(&call), owner_(o) {}
    /// Cancels the item and waits for the running instance, except inside its own function. Blocks: yes.
    ~work_member() { end_of_life(); }

private:
    static void call(work_base& w) { static_cast<void>((static_cast<work_member&>(w).owner_.*Member)()); }

    owner& owner_;
};

}} // namespace cmwq::CMWQ_NS
