// SPDX-License-Identifier: BSL-1.0
//
// Work items with a timer.
#pragma once

#include <cmwq/detail/ds/deadline_heap.hpp>
#include <cmwq/work.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS {

class delayed_work_base;

namespace detail {

struct timer_tag;

/// The timer inside a delayed item. `home` is the id of the runtime whose timer service has it armed, 0 otherwise; the
/// rest belongs to the lock of that service while it is armed, to the owner of PENDING before.
struct work_timer : deadline_node, list_node<timer_tag> {
    atomic<std::uint64_t> home{0};
    delayed_work_base* item = nullptr;
    queue_core* queue = nullptr;
    int cpu = any_cpu;
};

/// What std::chrono::duration looks like from here: <chrono> itself would double the cost of including this header,
/// and who has a duration has included it.
template <class D>
concept duration_like = requires(const D& d) {
    typename D::rep;
    D::period::num;
    D::period::den;
    static_cast<long double>(d.count());
};

/// Nanoseconds of any duration: rounded up, so that nothing runs early; saturating, so that `hours::max()` is a wish
/// and not an overflow.
template <duration_like D>
std::int64_t to_ns(const D& d) noexcept {
    constexpr std::int64_t far = std::int64_t{1} << 61; // 73 years
    const long double ns = static_cast<long double>(d.count()) * static_cast<long double>(D::period::num) *
                           1'000'000'000.0L / static_cast<long double>(D::period::den);
    if (!(ns > 0)) return 0;
    if (ns >= static_cast<long double>(far)) return far;
    const auto whole = static_cast<std::int64_t>(ns);
    return static_cast<long double>(whole) < ns ? whole + 1 : whole;
}

} // namespace detail

/// An item that a queue can run after a delay: `workqueue_base::queue_after()`. All members of `work_base` apply and
/// include an armed timer. `workqueue_base::modify()` gives the item a new time; that ends the `flush()` calls in which
/// other threads wait for the pending instance, and nothing has run then.
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

} // namespace cmwq::inline CMWQ_NS
