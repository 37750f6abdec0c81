// SPDX-License-Identifier: BSL-1.0
//
// The queue. This header is all that a file needs which only queues work; exactly those translation units that also
// include <cmwq/runtime.hpp> (or <cmwq/cmwq.hpp>) compile the engine, and a program needs one of them.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/delayed_work.hpp>
#include <cmwq/fwd.hpp>
#include <cmwq/options.hpp>
#include <cmwq/policy.hpp>
#include <cmwq/this_work.hpp>
#include <cmwq/work.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cmwq::inline CMWQ_NS {

namespace detail {

/// A closure that owns itself: made by post(), gone after its run.
template <class F>
class posted final : public self_owned_work {
public:
    struct from {};
    template <class G>
    posted(from, G&& g) : self_owned_work(&call, &drop), f_(std::forward<G>(g)) {}

private:
    static void drop(self_owned_work& w) noexcept { delete static_cast<posted*>(&w); }

    static void call(work_base& w) {
        // Destroyed on the way out, also when the callable throws.
        struct owner {
            posted* p;
            ~owner() { delete p; }
        } const o{static_cast<posted*>(&w)};
        static_cast<void>(o.p->f_());
    }

    F f_;
};

template <class F>
concept nullary = std::invocable<std::decay_t<F>&>;

} // namespace detail

/// What every queue can do, whatever its policy. Functions that do not care about the policy take this.
///
/// Every member may be called from any thread, concurrently, also from work functions, unless it says otherwise.
class workqueue_base {
public:
    workqueue_base(const workqueue_base&) = delete;
    workqueue_base& operator=(const workqueue_base&) = delete;

    /// Makes `w` pending on the calling thread's CPU, or in its pod; with `bh` it runs here, as a rule. Never allocates,
    /// never throws. Takes no lock, but for an item that still runs in a pool which `apply()`, or a change of CPUs, has
    /// taken from the queue since: it is put behind that run under the lock of that pool.
    ///
    /// Ordering: everything written before the call happens before the run that follows, also when the call returns
    /// `already_pending`, whoever made it pending. Progress: lock-free but for the item itself. Blocks: no.
    queue_status queue(work_base& w) noexcept { return detail::queue_work(*core_, w, detail::any_cpu); }

    /// The same on the CPU with this operating system number; with the attribute-keyed policies in its pod, which is a
    /// hint. `rejected` if the runtime does not use that CPU. If the item is still running somewhere else it is run
    /// there again instead: that it never runs twice at once counts for more.
    queue_status queue_on(unsigned cpu, work_base& w) noexcept {
        return cpu > cpu_ceiling ? queue_status::rejected : detail::queue_work(*core_, w, static_cast<int>(cpu));
    }

    /// Makes `w` pending now and runs it after `delay`, no earlier; then it is queued on the CPU of the timer's choice,
    /// which is that of the caller of this function. A delay of zero or less queues at once. The item belongs to this
    /// queue as soon as its timer is armed: `drain()` and the destructor know it.
    template <detail::duration_like Duration>
    queue_status queue_after(const Duration& delay, delayed_work_base& w) noexcept {
        return detail::queue_work_after(*core_, w, detail::to_ns(delay), detail::any_cpu);
    }

    /// The same for a named CPU.
    template <detail::duration_like Duration>
    queue_status queue_after_on(unsigned cpu, const Duration& delay, delayed_work_base& w) noexcept {
        return cpu > cpu_ceiling ? queue_status::rejected
                                 : detail::queue_work_after(*core_, w, detail::to_ns(delay), static_cast<int>(cpu));
    }

    /// Gives `w` a new time on this queue, whether or not, and wherever, it is pending: `modified` if it was, `queued`
    /// if not. A delay of zero or less queues at once. `disabled` and `rejected` leave it as it was.
    /// What was pending is taken away first, as by `cancel()`: a `flush()` of the item, or of the queue that had it, in
    /// which another thread waits for that instance, returns, and nothing has run.
    /// Blocks: only while another thread is in the middle of queueing this item.
    template <detail::duration_like Duration>
    queue_status modify(const Duration& delay, delayed_work_base& w) noexcept {
        return detail::modify_work(*core_, w, detail::to_ns(delay), detail::any_cpu);
    }

    /// Runs a copy of the callable once; it owns itself. Allocates once. `rejected`: it was destroyed without running.
    /// Errors: what copying it throws, std::bad_alloc. A callable whose destructor throws, after its run or instead of it,
    /// ends the program: `on_exception` is for work functions.
    template <detail::nullary F>
    queue_status post(F&& f) {
        return post_to(detail::any_cpu, std::forward<F>(f));
    }

    /// The same on a named CPU.
    template <detail::nullary F>
    queue_status post_on(unsigned cpu, F&& f) {
        return cpu > cpu_ceiling ? queue_status::rejected : post_to(static_cast<int>(cpu), std::forward<F>(f));
    }

    /// Runs the callable and gives a std::future of what it returns or throws. Needs <cmwq/async.hpp>. A queue that
    /// rejects it makes the future throw std::system_error(operation_canceled). Its destructor must not throw either.
    template <detail::nullary F>
    [[nodiscard]] auto async(F&& f) {
        return make_async(*this, std::forward<F>(f)); // found by argument-dependent lookup in <cmwq/async.hpp>
    }

    /// Changes the limit of active items, per CPU or of the whole machine as the policy says, at once: raising it starts
    /// waiting items, lowering it stops none. `min_active` is lowered with it.
    /// Errors: std::invalid_argument outside 1 … 2048, and on ordered and bottom-half queues, whose limit is part of
    /// their promise; std::logic_error on a system queue, whose limit is everybody's; nothing changed.
    void set_max_active(unsigned max_active) { detail::set_queue_max_active(*core_, max_active); }
    [[nodiscard]] unsigned max_active() const noexcept { return detail::queue_max_active(*core_); }

    /// The whole name, as given.
    [[nodiscard]] std::string_view name() const noexcept { return detail::queue_name(*core_); }

    /// Counters, taken CPU by CPU.
    [[nodiscard]] queue_stats stats() const noexcept { return detail::stats_of_queue(*core_); }

protected:
    template <class Policy>
    workqueue_base(runtime* rt, const Policy& /*answers*/, options<Policy>& o)
        : core_(detail::create_queue(rt, settings<Policy>(o, this))) {
        o.on_exception.release(); // the queue has it now
    }
    ~workqueue_base() = default;

    [[nodiscard]] detail::queue_core& core() const noexcept { return *core_; }

private:
    static constexpr unsigned cpu_ceiling = 1u << 20;

    template <class Policy>
    static detail::queue_settings settings(const options<Policy>& o, workqueue_base* front) noexcept {
        detail::queue_settings s{.name = o.name.empty() ? std::string_view{Policy::name} : o.name,
                                 .pool = Policy::pool,
                                 .managed = Policy::concurrency_managed,
                                 .fifo = Policy::fifo,
                                 .max_active = Policy::default_max_active,
                                 .min_active = 0,
                                 .prio = priority::normal,
                                 .cpu_intensive = false,
                                 .power_efficient = false,
                                 .rescuer = false,
                                 .freezable = false,
                                 .attributes = nullptr,
                                 .on_exception = o.on_exception.peek(),
                                 .front = front};
        if constexpr (requires { o.max_active; }) s.max_active = o.max_active;
        if constexpr (requires { o.min_active; }) s.min_active = o.min_active;
        if constexpr (requires { o.priority; }) s.prio = o.priority;
        if constexpr (requires { o.cpu_intensive; }) s.cpu_intensive = o.cpu_intensive;
        if constexpr (requires { o.power_efficient; }) s.power_efficient = o.power_efficient;
        if constexpr (requires { o.rescuer; }) s.rescuer = o.rescuer;
        if constexpr (requires { o.freezable; }) s.freezable = o.freezable;
        if constexpr (requires { o.attrs; }) s.attributes = &o.attrs;
        return s;
    }

    template <class F>
    queue_status post_to(int cpu, F&& f) {
        using item_type = detail::posted<std::decay_t<F>>;
        auto* item = new item_type(typename item_type::from{}, std::forward<F>(f));
        const queue_status s = detail::queue_work(*core_, *item, cpu);
        if (s != queue_status::queued) delete item;
        return s;
    }

    detail::queue_core* core_;
};

/// Says what `workqueue::shutdown()` does with items that have not started.
struct cancel_pending_t {
    explicit cancel_pending_t() = default;
};
inline constexpr cancel_pending_t cancel_pending{};

/// A queue of work items, executed as `Policy` says. Cheap: threads belong to the runtime's pools, which all queues
/// share.
///
///     cmwq::workqueue<> events{"events"};
///     cmwq::workqueue<> io{rt, {.name = "io", .max_active = 8}};
template <class Policy>
class workqueue : public workqueue_base {
    static_assert(execution_policy<Policy>, "cmwq::workqueue: the policy does not satisfy cmwq::execution_policy");

    static constexpr bool has_limit = !Policy::fifo;
    static constexpr bool has_attrs = Policy::pool == pool_kind::attrs_keyed;

public:
    using policy = Policy;

    /// On the process-wide runtime, which is made on first use.
    /// Errors: std::invalid_argument, std::bad_alloc, and std::system_error if no thread can be made.
    template <std::convertible_to<std::string_view> Name>
    explicit workqueue(const Name& name) : workqueue(nullptr, options<Policy>{.name = name}) {}
    explicit workqueue(options<Policy> o) : workqueue(nullptr, std::move(o)) {}

    /// On a runtime of one's own, which must outlive the queue.
    template <std::convertible_to<std::string_view> Name>
    workqueue(runtime& rt, const Name& name) : workqueue(&rt, options<Policy>{.name = name}) {}
    workqueue(runtime& rt, options<Policy> o) : workqueue(&rt, std::move(o)) {}

    /// `drain()`, then gone: every item that was accepted runs, armed timers at once. While it waits, only items of
    /// this queue can queue on it.
    /// Errors: from inside an item of this queue, or one that an item of this queue waits for, it cannot wait: it says so
    /// on stderr, with queue and item, and ends the program by std::terminate(), as std::thread does. The same in a bottom
    /// half, unless the queue is empty.
    ~workqueue() { detail::destroy_queue(&core()); }

    /// Waits until everything queued on this queue before the call has run or was taken away, by a `cancel()` or a
    /// `modify()`. What is queued meanwhile,
    /// also by the items waited for, and timers that are armed, are not waited for. Any number of threads may flush at
    /// once. Ordering: the runs happen before the return. Blocks: yes.
    /// Errors: std::system_error(resource_deadlock_would_occur) from inside an item of this queue,
    /// std::system_error(operation_not_permitted) from inside a bottom half.
    void flush() { detail::flush_queue(core()); }

    /// Waits until the queue is empty. Meanwhile only its own items can queue on it, without delay; others get
    /// `rejected`. Armed timers are brought forward: their items run now. Afterwards the queue accepts items again.
    /// Blocks: yes, for as long as its items queue each other. Errors: as `flush()`.
    void drain() { detail::drain_queue(core()); }

    /// Ends the use of this queue without running what waits in it: what has not started, armed timers included, is
    /// cancelled; closures that were posted are destroyed (a future of `async()` gets std::future_error,
    /// broken_promise). Waits for the items that run, and returns how many others were dropped. From the call on every
    /// `queue()` is `rejected`, also from the queue's own items; for good.
    /// Blocks: for the running items. Errors: as `flush()`; nothing changed then, unless the caller is not an item of this
    /// queue, but one that its items wait for: everything has been dropped by then, and the queue stays shut.
    std::size_t shutdown(cancel_pending_t /*what*/) { return detail::shut_queue_down(core(), {}); }

    /// The same, and `f(work_base&)` gets each dropped item that is not a closure, on the calling thread, without any lock,
    /// as soon as the item is not pending any more: `f` may destroy it, which items do that would have destroyed
    /// themselves in their run, and whatever else it owns, or queue it on another queue. Items that wait for their turn
    /// can still be cancelled or destroyed by anybody; `f` does not get them then, and they are not counted.
    /// Allocates nothing. Errors: as above; what `f` throws, the first time, after all items have been handed out and the
    /// running ones have ended. The count is lost then.
    ///
    ///     queue.shutdown(cmwq::cancel_pending, [](cmwq::work_base& w) { delete static_cast<request*>(&w); });
    template <class F>
        requires std::invocable<F&, work_base&>
    std::size_t shutdown(cancel_pending_t /*what*/, F&& f) {
        auto hand_over = [&f](work_base& w) { f(w); };
        return detail::shut_queue_down(
            core(), {.call = [](void* to, work_base& w) { (*static_cast<decltype(hand_over)*>(to))(w); },
                     .context = &hand_over});
    }

    /// As in the base; only queues whose limit is an option have it.
    void set_max_active(unsigned max_active)
        requires has_limit
    {
        workqueue_base::set_max_active(max_active);
    }

    /// What each NUMA node gets at least, see the option. Takes effect at once.
    /// Errors: std::invalid_argument outside 1 ... `max_active()`; nothing changed.
    void set_min_active(unsigned min_active)
        requires(has_attrs && has_limit)
    {
        detail::set_queue_min_active(core(), min_active);
    }
    [[nodiscard]] unsigned min_active() const noexcept
        requires(has_attrs && has_limit)
    {
        return detail::queue_min_active(core());
    }

    /// Changes the attributes of the live queue, all of its pools at once: what is queued from here on runs there, what
    /// was queued before still runs where it was. Nothing is lost and nothing runs twice; an ordered queue keeps its
    /// order across the change. Concurrent callers take turns. May be called from the queue's own items.
    /// Blocks: while other threads are in the middle of queueing on this queue, not for items.
    /// Errors: std::invalid_argument for impossible attributes, or if the queue is being destroyed; std::bad_alloc.
    /// Nothing changed then.
    void apply(const attrs& wanted)
        requires has_attrs
    {
        detail::apply_to_queue(core(), wanted);
    }
    /// The attributes as given last.
    [[nodiscard]] attrs attributes() const
        requires has_attrs
    {
        attrs a;
        detail::copy_attrs_of_queue(core(), a);
        return a;
    }

    /// Makes `w` pending in a pod of this NUMA node, if the caller is not there anyway; a hint. `rejected` if the
    /// runtime knows no such node. Otherwise as `queue()`.
    queue_status queue_on_node(int node, work_base& w) noexcept
        requires has_attrs
    {
        return detail::queue_work_on_node(core(), w, node);
    }

private:
    workqueue(runtime* rt, options<Policy>&& o) : workqueue_base(rt, Policy{}, o) {}
};

} // namespace cmwq::inline CMWQ_NS
