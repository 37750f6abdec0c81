// SPDX-License-Identifier: BSL-1.0
//
// The queue. A file that only queues work needs just this header. Translation units that also include
// <cmwq/runtime.hpp> (or <cmwq/cmwq.hpp>) compile the engine; a program needs one of them at least.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/delayed_work.hpp>
#include <cmwq/detail/api/posted.hpp>
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

namespace cmwq { inline namespace CMWQ_NS {

/// The operations of all queues, for every policy. A function that works with any policy takes a reference to this.
///
/// Thread safety: all members may be called from any thread, concurrently, also from work functions, unless they state
/// otherwise.
class workqueue_base {
public:
    workqueue_base(const workqueue_base&) = delete;
    workqueue_base& operator=(const workqueue_base&) = delete;

    /// Makes `w` pending on the calling thread's CPU, or in its pod. On a `bh` queue it runs here, as a rule. Never
    /// allocates. Takes no lock, with two exceptions, both for an item that was last in another pool. First: the queue
    /// is unbound or elastic, and the item still runs in a pool that does not serve the queue, for example after
    /// `workqueue::apply()` or a change of CPUs; then the call takes the lock of that pool, and puts the item behind
    /// that run if the run belongs to this queue. Second: that pool has at least 64 records of workers, and fewer than
    /// 64 workers are busy; then the call takes its lock to check whether the item runs there.
    ///
    /// Ordering: everything written before the call happens before the run that follows, also when the call returns
    /// `already_pending` because another thread made it pending. Progress: lock-free; a thread that is stopped in the
    /// middle of a call delays only its own item. Blocks: no. Errors: none, never throws.
    queue_status queue(work_base& w) noexcept { return detail::queue_work(*core_, w, detail::any_cpu); }

    /// Makes `w` pending on the CPU with this operating system number. With the attribute-keyed policies it is queued
    /// in the pod of that CPU, which is a hint. Returns `rejected` if the runtime does not use that CPU. If the item
    /// still runs on another CPU it runs there again instead, because it must not run twice at once. Otherwise as
    /// `queue()`.
    queue_status queue_on(unsigned cpu, work_base& w) noexcept {
        return cpu > detail::cpu_ceiling ? queue_status::rejected
                                         : detail::queue_work(*core_, w, static_cast<int>(cpu));
    }

    /// Makes `w` pending now and arms its timer. The item is queued no earlier than after `delay`, on the CPU of the
    /// caller of this function. A delay of zero or less queues at once; the longest delay is 73 years. The item belongs
    /// to this queue as soon as its timer is armed: `workqueue::drain()` and the destructor include it. The timers of
    /// this queue for one CPU, and all timers of an ordered queue, expire in the order of their deadlines, equal ones
    /// in the order of these calls. Ordering and errors: as `queue()`. Blocks: no, but it takes the lock of the timers
    /// of that CPU.
    template <detail::duration_like Duration>
    queue_status queue_after(const Duration& delay, delayed_work_base& w) noexcept {
        return detail::queue_work_after(*core_, w, detail::to_ns(delay), detail::any_cpu);
    }

    /// Makes `w` pending now and queues it after `delay` as `queue_on()`. Otherwise as `queue_after()`.
    template <detail::duration_like Duration>
    queue_status queue_after_on(unsigned cpu, const Duration& delay, delayed_work_base& w) noexcept {
        return cpu > detail::cpu_ceiling
                   ? queue_status::rejected
                   : detail::queue_work_after(*core_, w, detail::to_ns(delay), static_cast<int>(cpu));
    }

    /// Gives `w` a new time on this queue. Returns `modified` if it was pending, on any queue, and `queued` if it was
    /// not. A delay of zero or less queues at once. `disabled` and `rejected` leave the item unchanged.
    ///
    /// The pending instance is cancelled first, as by `work_base::cancel()`: a flush of the item, or of the queue that
    /// had it, in which another thread waits for that instance, returns although the instance has not run. Ordering: as
    /// `queue()`. Blocks: only while another thread is in the middle of queueing this item. Errors: none, never throws.
    template <detail::duration_like Duration>
    queue_status modify(const Duration& delay, delayed_work_base& w) noexcept {
        return detail::modify_work(*core_, w, detail::to_ns(delay), detail::any_cpu);
    }

    /// Runs a copy of the callable once, as `queue()`, and destroys it after its run. It uses the memory of an
    /// earlier closure if there is one; a copy of more than about 64 bytes is allocated. With any result but `queued`
    /// the copy has been destroyed without a run. Errors: an exception that copying the callable throws,
    /// std::bad_alloc; nothing is queued then. A callable whose destructor throws ends the program: `on_exception` is
    /// for work functions.
    template <detail::nullary F>
    queue_status post(F&& f) {
        return detail::post_copy(*core_, std::forward<F>(f), [this](work_base& w) { return queue(w); });
    }

    /// Runs a copy of the callable once, on the given CPU as `queue_on()`. Otherwise as `post()`.
    template <detail::nullary F>
    queue_status post_on(unsigned cpu, F&& f) {
        return detail::post_copy(*core_, std::forward<F>(f), [&](work_base& w) { return queue_on(cpu, w); });
    }

    /// Runs a copy of the callable once and returns a std::future of its result or exception. Needs the header
    /// `cmwq/async.hpp`. A queue that rejects the callable makes the future throw
    /// std::system_error(operation_canceled). Errors: as `post()`.
    template <detail::nullary F>
    [[nodiscard]] auto async(F&& f) {
        return make_async(*this, std::forward<F>(f)); // found by argument-dependent lookup in <cmwq/async.hpp>
    }

    /// Sets the limit of active items, per CPU or for the whole machine, depending on the policy. It takes effect at
    /// once: a higher limit starts waiting items, a lower one stops none. A `min_active` above it is lowered, too;
    /// a higher limit does not restore it. Errors: std::invalid_argument outside 1 … 2048, and on ordered and
    /// bottom-half queues, whose limit is fixed; std::logic_error on a system queue, whose limit all parts of the
    /// program share; nothing changed then.
    void set_max_active(unsigned max_active) { detail::set_queue_max_active(*core_, max_active); }
    /// Returns the limit of active items.
    [[nodiscard]] unsigned max_active() const noexcept { return detail::queue_max_active(*core_); }

    /// Returns the whole name, as given. The text is valid as long as the queue.
    [[nodiscard]] std::string_view name() const noexcept { return detail::queue_name(*core_); }

    /// Returns the counters of the queue, and how many items it has now. They are read pool by pool, so they are not a
    /// snapshot of one moment. Takes the lock of each pool of the queue: a bound queue has one for each CPU.
    /// The caller includes <cmwq/stats.hpp>, or <cmwq/cmwq.hpp>.
    [[nodiscard]] queue_stats stats() const noexcept;
    /// Returns the number of items that have not started: `stats().pending`.
    [[nodiscard]] std::size_t pending() const noexcept;
    /// Returns the number of items that have a slot of the limit `max_active`: `stats().active`.
    [[nodiscard]] std::size_t active() const noexcept;

protected:
    /// Makes a queue on `rt`; null: on the process-wide runtime.
    template <class Policy>
    workqueue_base(runtime* rt, const Policy& /*answers*/, options<Policy>& o)
        : core_(detail::create_queue(rt, settings<Policy>(o, this))) {
        o.on_exception.release(); // the queue has it now
    }
    ~workqueue_base() = default;

    /// For the derived classes of the library.
    [[nodiscard]] detail::queue_core& core() const noexcept { return *core_; }

private:
    template <class Policy>
    static detail::queue_settings settings(const options<Policy>& o, workqueue_base* front) noexcept {
        detail::queue_settings s{.name = o.name.empty() ? std::string_view{Policy::name} : o.name,
                                 .policy = Policy::name,
                                 .how = detail::execution_of<Policy>(),
                                 .max_active = Policy::default_max_active,
                                 .on_exception = o.on_exception.peek(),
                                 .front = front};
        if constexpr (requires { o.max_active; }) s.max_active = o.max_active;
        if constexpr (requires { o.min_active; }) s.min_active = o.min_active;
        if constexpr (requires { o.priority; }) s.prio = o.priority;
        if constexpr (requires { o.cpu_intensive; }) s.cpu_intensive = o.cpu_intensive;
        if constexpr (requires { o.power_efficient; }) s.power_efficient = o.power_efficient;
        if constexpr (requires { o.rescuer; }) s.rescuer = o.rescuer;
        if constexpr (requires { o.freezable; }) s.freezable = o.freezable;
        if constexpr (requires { o.exported; }) s.exported = o.exported;
        if constexpr (requires { o.attrs; }) s.attributes = &o.attrs;
        return s;
    }

    detail::queue_core* core_;
};

/// The type of `cancel_pending`: `workqueue::shutdown()` cancels the items that have not started.
struct cancel_pending_t {
    explicit cancel_pending_t() = default;
};
/// The argument of `workqueue::shutdown()`.
inline constexpr cancel_pending_t cancel_pending{};

/// A queue of work items; `Policy` defines how they are executed. A queue is cheap: the threads belong to the pools of
/// the runtime, which all queues share.
///
///     cmwq::workqueue<> events{"events"};
///     cmwq::workqueue<> io{rt, {.name = "io", .max_active = 8}};
template <class Policy>
class workqueue : public workqueue_base {
    // The rules first: some compilers report only the first failure.
    static constexpr bool has_answers = detail::has_all_answers<Policy>;
    static_assert(!has_answers || detail::limit_rule<Policy>,
                  "cmwq: a policy's default_max_active is 1 to cmwq::max_active_ceiling");
    static_assert(!has_answers || detail::fifo_rule<Policy>,
                  "cmwq: a fifo policy runs one item at a time: its default_max_active is 1");
    static_assert(!has_answers || detail::per_cpu_rule<Policy>,
                  "cmwq: a per_cpu policy has concurrency_managed and may_block, and is not fifo");
    static_assert(!has_answers || detail::keyed_rule<Policy>, "cmwq: an attrs_keyed policy has may_block");
    static_assert(!has_answers || detail::lists_rule<Policy>,
                  "cmwq: a policy with local_lists is attrs_keyed with concurrency_managed, and not fifo");
    static_assert(!has_answers || detail::dispatcher_rule<Policy>,
                  "cmwq: a dispatcher policy is fifo, without may_block and concurrency_managed");
    static_assert(execution_policy<Policy>, "cmwq::workqueue: the policy does not satisfy cmwq::execution_policy");

    static constexpr bool has_limit = !Policy::fifo;
    static constexpr bool has_attrs = Policy::pool == pool_kind::attrs_keyed;

public:
    /// The policy of the queue.
    using policy = Policy;

    /// Makes a queue with default options and the name of its policy on the process-wide runtime, which is made on
    /// first use. Errors: as `runtime::global()`, std::bad_alloc.
    workqueue() : workqueue(nullptr, options<Policy>{}) {}
    /// As above, with this name.
    template <std::convertible_to<std::string_view> Name>
    explicit workqueue(const Name& name) : workqueue(nullptr, options<Policy>{.name = name}) {}
    /// Makes a queue with these options on the process-wide runtime, which is made on first use.
    /// Errors: as `runtime::global()`, std::invalid_argument for impossible options, std::bad_alloc, and
    /// std::system_error if the system refuses a thread.
    explicit workqueue(options<Policy> o) : workqueue(nullptr, std::move(o)) {}

    /// Makes a queue with default options on `rt`, which must outlive the queue. Errors: std::bad_alloc.
    explicit workqueue(runtime& rt) : workqueue(&rt, options<Policy>{}) {}
    /// As above, with this name.
    template <std::convertible_to<std::string_view> Name>
    workqueue(runtime& rt, const Name& name) : workqueue(&rt, options<Policy>{.name = name}) {}
    /// Makes a queue with these options on `rt`, which must outlive the queue. Errors: std::invalid_argument for
    /// impossible options, std::bad_alloc, and std::system_error if the system refuses a thread.
    workqueue(runtime& rt, options<Policy> o) : workqueue(&rt, std::move(o)) {}

    /// Drains the queue as `drain()`, then destroys it: every item that was accepted runs, items with armed timers at
    /// once. During the wait only items of this queue can queue on it. Ordering: the runs happen before the return.
    /// Blocks: yes. Errors: a destructor that runs in an item of this queue, or in one for which an item of this queue
    /// waits, cannot wait. It prints queue and item on stderr and ends the program by std::terminate(), as std::thread
    /// does. A destructor in a bottom half does so, too, unless the queue is empty.
    ~workqueue() { detail::destroy_queue(&core()); }

    /// Waits until all items queued on this queue before the call have run or were cancelled, by a `cancel()` or a
    /// `modify()`. Does not wait for armed timers, or for items queued during the call, not even for those queued by
    /// the items for which it waits. Any number of threads may flush at once. Ordering: the runs happen before the
    /// return. Blocks: yes. Errors: std::system_error(resource_deadlock_would_occur) from inside an item of this queue,
    /// std::system_error(operation_not_permitted) from inside a bottom half.
    void flush() { detail::flush_queue(core()); }

    /// Waits until the queue is empty. During the call only its own items can queue on it, without delay; other callers
    /// get `rejected`. Items with armed timers run at once; if such an item arms its timer again, that is rejected, and
    /// it is not armed afterwards. Afterwards the queue accepts items again. Ordering: the
    /// runs happen before the return. Blocks: yes, as long as its items queue each other. Errors: as `flush()`.
    void drain() { detail::drain_queue(core()); }

    /// Ends the use of this queue: cancels the items that have not started, armed timers included, and destroys the
    /// closures of `post()` (a future of `async()` throws std::future_error, broken_promise). Waits for the items that
    /// run. Returns how many items it dropped. From the call on, all queueing calls return `rejected` permanently, also
    /// those of the queue's own items. Ordering: the runs happen before the return. Blocks: for the running items.
    /// Errors: as `flush()`; nothing changed then, unless the caller is an item for which an item of this queue waits:
    /// everything has been dropped by then, and the queue stays closed.
    std::size_t shutdown(cancel_pending_t /*what*/) { return detail::shut_queue_down(core(), {}); }

    /// Ends the use of this queue as `shutdown(cancel_pending)`, and calls `f(work_base&)` with each dropped item that
    /// is no closure, on the calling thread, without any lock. The item is not pending any more then. `f` may destroy
    /// it and other things that it owns, as its own function would have done, or queue it on another queue. Until `f`
    /// is called with an item, any thread may still cancel or destroy that item; `f` does not get it then, and it is
    /// not counted. Allocates nothing. Errors: as `shutdown(cancel_pending)`, and the first exception that `f` throws,
    /// after all items have been handed out and the running ones have ended. The count is lost then.
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

    /// Sets the limit as `workqueue_base::set_max_active()`. Only queues whose limit is an option have it.
    void set_max_active(unsigned max_active)
        requires has_limit
    {
        workqueue_base::set_max_active(max_active);
    }

    /// Sets the smallest share of a NUMA node, see the option `min_active`. It takes effect at once. Errors:
    /// std::invalid_argument outside 1 … `max_active()`; nothing changed then.
    void set_min_active(unsigned min_active)
        requires(has_attrs && has_limit)
    {
        detail::set_queue_min_active(core(), min_active);
    }
    /// Returns the smallest share of a NUMA node, see the option `min_active`.
    [[nodiscard]] unsigned min_active() const noexcept
        requires(has_attrs && has_limit)
    {
        return detail::queue_min_active(core());
    }

    /// Changes the attributes of the live queue, for all of its pools at once: items queued from here on run in the new
    /// pools, items queued before still run in the old ones. No item is lost, and none runs twice; an ordered queue
    /// keeps its order across the change. Concurrent callers take turns. The queue's own items may call it. Blocks:
    /// while other threads are in the middle of queueing on this queue, not for items. Errors: std::invalid_argument
    /// for impossible attributes, or if the queue is being destroyed; std::bad_alloc. Nothing changed then.
    void apply(const attrs& wanted)
        requires has_attrs
    {
        detail::apply_to_queue(core(), wanted);
    }
    /// Returns the attributes that were set last. Errors: std::bad_alloc.
    [[nodiscard]] attrs attributes() const
        requires has_attrs
    {
        attrs a;
        detail::copy_attrs_of_queue(core(), a);
        return a;
    }

    /// Makes `w` pending in a pod of this NUMA node, or in the pod of the caller if that is on this node. The node is a
    /// hint. Returns `rejected` if the runtime knows no such node. Otherwise as `queue()`.
    queue_status queue_on_node(unsigned node, work_base& w) noexcept
        requires has_attrs
    {
        return detail::queue_work_on_node(core(), w, node);
    }

private:
    friend class task_group;
    workqueue(runtime* rt, options<Policy>&& o) : workqueue_base(rt, Policy{}, o) {}
};

}} // namespace cmwq::CMWQ_NS
