// SPDX-License-Identifier: BSL-1.0
//
// Work items: pinned objects that carry everything a queue needs, so that queueing never allocates.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine_ops.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace cmwq::inline CMWQ_NS {

namespace detail {

class pool_workqueue;
struct item_tag;
struct work_access; // the engine's way to the private parts of an item

using item_node = list_node<item_tag>;

} // namespace detail

/// A work item: a function that runs on a worker once for each time it was made pending. 48 bytes, neither copied nor
/// moved. What to run comes from a derived class: `work<F>`, `work_member<&C::f>`, `delayed_work<F>`.
///
/// An item never runs twice at the same time on one queue, nor on bound queues of one runtime and priority, and every
/// successful `queue()` is followed by a run that sees what was written before the call; several calls before that run
/// are one run. Queued on another queue while it runs, it may run in both.
///
/// All members may be called from any thread, concurrently, also from work functions. None of them allocates.
class work_base : private detail::item_node {
public:
    work_base(const work_base&) = delete;
    work_base& operator=(const work_base&) = delete;

    /// Waits until the instance queued last has run: if the item is pending, for that run; else, if it runs, for the
    /// end of this run. A pending instance that somebody cancels, or gives a new time by `modify()`, ends the wait, too:
    /// nothing has run then. An armed timer is brought forward: the item is queued at once.
    ///
    /// Returns whether there was anything to wait for. Ordering: the run happens before the return. Blocks: yes.
    /// Errors: std::system_error(resource_deadlock_would_occur) from inside the item itself,
    /// std::system_error(operation_not_permitted) from inside a bottom half.
    bool flush() { return detail::flush_work(*this); }

    /// Takes a pending instance away, armed timers included; does not wait for a running one. Returns whether there
    /// was one. Blocks: only while another thread is in the middle of queueing this item.
    bool cancel() noexcept { return detail::cancel_work(*this); }

    /// `cancel()`, then waits for the running instance. While inside, nobody can queue the item (they get
    /// `disabled`), so on return it is neither pending nor running, unless somebody queued it since. Returns whether an
    /// instance was pending. Ordering: a run that had begun happens before the return. Blocks: yes.
    /// Errors: std::system_error(resource_deadlock_would_occur) from inside the item itself,
    /// std::system_error(operation_not_permitted) from inside a bottom half, std::length_error at a disable depth of
    /// 65535, of which it needs one; nothing was changed then.
    bool cancel_sync() { return detail::cancel_work_sync(*this); }

    /// Counts up a depth; while it is not zero, nobody can queue the item. Takes a pending instance away, as `cancel()`
    /// does, and returns whether there was one. Errors: std::length_error at a depth of 65535; nothing changed.
    bool disable() { return detail::disable_work(*this); }

    /// `disable()`, then waits for the running instance. Blocks: yes. Errors: as `disable()` and `cancel_sync()`.
    bool disable_sync() { return detail::disable_work_sync(*this); }

    /// Counts the depth down; true if the item can be queued again. Does not queue it.
    /// Errors: std::logic_error without a matching `disable()`; nothing changed.
    bool enable() { return detail::enable_work(*this); }

    /// Whether an instance waits to run, or a timer is armed. A snapshot.
    // [PEND-3] pairs [PEND-2].
    [[nodiscard]] bool pending() const noexcept { return (state_.load(detail::acquire) & pending_bit) != 0; }

    /// Whether the item is pending or running. A snapshot.
    [[nodiscard]] bool busy() const noexcept { return pending() || detail::work_running(*this); }

protected:
    using function = void (*)(work_base&);

    explicit work_base(function run) noexcept : run_(run) {}
    ~work_base() = default;

    struct delayed_tag {};
    work_base(function run, delayed_tag) noexcept : state_(delayed_bit), run_(run) {}
    struct self_owned_tag {};
    work_base(function run, self_owned_tag) noexcept : state_(self_owned_bit), run_(run) {}

    // For the destructor of the class that holds the callable, before the callable goes: waits until nobody runs it.
    // An item that was never queued costs two loads. PENDING first: an item that a timer has queued gets its place
    // before it loses PENDING, and [PEND-2] shows it to whoever finds PENDING gone.
    void end_of_life() noexcept {
        if (pending() || place_.load(detail::relaxed) != 0) detail::end_of_work(*this);
    }

private:
    friend struct detail::work_access;
    template <class, class>
    friend class detail::intrusive_list;
    template <class, class>
    friend class detail::inbox;

    // The state word is changed by read-modify-writes only: that is what lets a losing queue() publish [PEND-1].
    static constexpr std::uint32_t pending_bit = 1u;
    static constexpr std::uint32_t delayed_bit = 2u;    // constant: the item is a delayed_work_base
    static constexpr std::uint32_t self_owned_bit = 4u; // constant: the item is a self_owned_work
    static constexpr std::uint32_t depth_one = 1u << 8;
    static constexpr std::uint32_t depth_mask = 0xffffu << 8;

    detail::atomic<std::uint32_t> state_{0};
    detail::atomic<std::uint64_t> place_{0}; // where it is or was last: work_access::place
    function run_;
    detail::pool_workqueue* pwq_ = nullptr; // I while pending: the target, written by the owner of PENDING
};

static_assert(CMWQ_SYNC != 0 || sizeof(work_base) <= 48, "an item is cheap to embed");

namespace detail {

/// An item that nobody else owns: it goes with its run, or when it is dropped.
class self_owned_work : public work_base {
protected:
    using dropper = void (*)(self_owned_work&) noexcept;
    self_owned_work(function run, dropper drop) noexcept : work_base(run, self_owned_tag{}), drop_(drop) {}
    ~self_owned_work() = default;

private:
    friend struct work_access;
    dropper drop_;
};

} // namespace detail

/// An item that holds its callable. The callable is invoked with no arguments; what it returns is dropped.
///
/// It may destroy the item: the library does not touch an item after its function has been entered. Destroying an item
/// otherwise cancels it and waits for the running instance (`cancel_sync()`).
///
///     cmwq::work hello{[] { greet(); }};
///     queue.queue(hello);
template <class F>
class work : public work_base {
    static_assert(std::is_invocable_v<F&>, "cmwq::work: the callable must be callable without arguments");

public:
    explicit work(F f) noexcept(std::is_nothrow_move_constructible_v<F>) : work_base(&call), f_(std::move(f)) {}
    ~work() { end_of_life(); }

private:
    static void call(work_base& w) { static_cast<void>(static_cast<work&>(w).f_()); }

    F f_;
};

namespace detail {

template <class M>
struct member_class;
template <class R, class C>
struct member_class<R (C::*)()> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() noexcept> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)()&> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() & noexcept> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() const> {
    using type = const C;
};
template <class R, class C>
struct member_class<R (C::*)() const noexcept> {
    using type = const C;
};

} // namespace detail

/// An item that calls a member function of the object that owns it. Declare it last: it is then destroyed first, and
/// no run sees a half-destroyed owner.
///
///     cmwq::work_member<&page_cache::evict> evict_{*this};
template <auto Member>
class work_member : public work_base {
    using owner = typename detail::member_class<decltype(Member)>::type;

public:
    explicit work_member(owner& o) noexcept : work_base(&call), owner_(o) {}
    ~work_member() { end_of_life(); }

private:
    static void call(work_base& w) { static_cast<void>((static_cast<work_member&>(w).owner_.*Member)()); }

    owner& owner_;
};

} // namespace cmwq::inline CMWQ_NS
