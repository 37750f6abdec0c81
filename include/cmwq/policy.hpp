// SPDX-License-Identifier: BSL-1.0
//
// Policies: structs of compile-time answers that say how the items of a queue are executed.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <concepts>
#include <string_view>

namespace cmwq::inline CMWQ_NS {

/// Which pools serve a queue.
enum class pool_kind : unsigned char {
    per_cpu,     ///< the shared pools of the CPU on which an item is queued
    attrs_keyed, ///< pools shared by all queues of equal attributes, one for each pod of their affinity scope
    dispatcher,  ///< no threads: the thread that queues an item runs it
};

/// The bound policy: items run on the CPU on which they were queued, where one worker at a time is runnable.
///
/// - *Where does it run?* On the CPU of the caller of `queue()`, or on the one named in `queue_on()`; an item that is
///   still running somewhere else is run there again, by the same worker.
/// - *How many at once?* At most `max_active` of one queue per CPU have started or wait to be started next; of all
///   the queues of a CPU and priority, one is runnable at a time: the next starts when it blocks or ends.
/// - *In which order?* The items of one queue start in queueing order on each CPU. There is no order between CPUs.
/// - *May it block?* Yes, in any call. Another item is started, within microseconds as a rule; when a dozen or more are
///   blocked already, once the CPU has stayed idle for a moment.
/// - *Who wakes whom?* The producer wakes one idle worker if nothing runs there; a blocking worker is replaced.
/// - *What does flush mean?* Everything queued before, on any CPU, has run or was cancelled.
/// - *What about progress?* An item may wait for up to `max_active - 1` others of its queue and CPU.
struct bound {
    static constexpr std::string_view name = "bound";
    static constexpr pool_kind pool = pool_kind::per_cpu;
    static constexpr bool concurrency_managed = true;
    static constexpr bool may_block = true;
    static constexpr bool fifo = false;
    static constexpr unsigned default_max_active = 256;
};

/// The unbound policy: items run wherever the scheduler finds room, as soon as a thread is there and the limit allows.
///
/// - *Where does it run?* On a thread of the pool that serves the caller's pod: the CPUs that share what the affinity
///   scope of `attrs` says. Strict pools stay inside of the pod; the others prefer a worker that was there last.
/// - *How many at once?* Up to `max_active` on the whole machine, shared out to its NUMA nodes.
/// - *In which order?* The items of one pod start in queueing order. There is no order between pods.
/// - *May it block?* Yes. Nothing has to notice it: the next item does not wait for it.
/// - *Who wakes whom?* The producer wakes one idle worker, and each that finds more pending wakes the next.
/// - *What does flush mean?* Everything queued before, in any pod, has run or was cancelled.
/// - *What about progress?* Chains of up to `min_active` items that wait for each other always complete.
struct unbound {
    static constexpr std::string_view name = "unbound";
    static constexpr pool_kind pool = pool_kind::attrs_keyed;
    static constexpr bool concurrency_managed = false;
    static constexpr bool may_block = true;
    static constexpr bool fifo = false;
    static constexpr unsigned default_max_active = 256;
};

/// The elastic policy: unbound, with concurrency management. What a thread pool should be.
///
/// - *Where does it run?* As with `unbound`.
/// - *How many at once?* Up to `max_active` on the whole machine have started; of them one for each CPU of the pod is
///   runnable, and as many more as other CPUs that the queue may use would idle.
/// - *In which order?* As with `unbound`.
/// - *May it block?* Yes, in any call, announced or not: another item is started in its place, within microseconds as
///   a rule. When blocked ones come back, surplus workers step back at the end of their item.
/// - *Who wakes whom?* The producer wakes a worker while fewer run than there are CPUs; a blocked one is replaced.
/// - *What does flush mean?* As with `unbound`.
/// - *What about progress?* As with `unbound`.
struct elastic : unbound {
    static constexpr std::string_view name = "elastic";
    static constexpr bool concurrency_managed = true;
};

/// The ordered policy: one item at a time on the whole machine, in queueing order.
///
/// - *Where does it run?* On a thread of the unbound pool that spans all CPUs of its `attrs`.
/// - *How many at once?* One, also while attributes and CPU masks change.
/// - *In which order?* Queueing order, always.
/// - *May it block?* Yes; the next item waits for it.
/// - *Who wakes whom?* The producer wakes an idle worker if the queue is empty; the end of an item starts the next.
/// - *What does flush mean?* Everything queued before has run or was cancelled.
/// - *What about progress?* An item must not wait for one that was queued behind it.
struct ordered : unbound {
    static constexpr std::string_view name = "ordered";
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 1;
};

/// The bottom-half policy: the thread that queues an item runs it, before `queue()` returns.
///
/// - *Where does it run?* In the thread that queues it, in the bottom-half context of its CPU. Inside a
///   `bh_disable_guard` at the end of the guard; queued to another CPU, by a timer, or beyond the budget of 10 rounds
///   or 2 ms, on a thread of that CPU.
/// - *How many at once?* One for each CPU and priority.
/// - *In which order?* Queueing order for each CPU and priority. Queueing from inside an item appends; nothing recurs.
/// - *May it block?* No: a `blocking_region` in it ends the program with a diagnosis, waiting for items or queues
///   throws.
/// - *Who wakes whom?* Nobody, as a rule.
/// - *What does flush mean?* Everything queued before, on any CPU, has run or was cancelled.
/// - *What about progress?* An item that never ends stops its CPU's bottom halves.
struct bh {
    static constexpr std::string_view name = "bh";
    static constexpr pool_kind pool = pool_kind::dispatcher;
    static constexpr bool concurrency_managed = false;
    static constexpr bool may_block = false;
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 1;
};

/// The ceiling of `max_active`, for every policy.
inline constexpr unsigned max_active_ceiling = 2048;

namespace detail {

template <class P>
concept has_all_answers = requires {
    { P::name } -> std::convertible_to<std::string_view>;
    { P::pool } -> std::convertible_to<pool_kind>;
    { P::concurrency_managed } -> std::convertible_to<bool>;
    { P::may_block } -> std::convertible_to<bool>;
    { P::fifo } -> std::convertible_to<bool>;
    { P::default_max_active } -> std::convertible_to<unsigned>;
};

} // namespace detail

/// A policy answers every question, and its answers fit together.
template <class P>
concept execution_policy =
    detail::has_all_answers<P>
    // A default limit that the constructor of the queue would refuse is no default.
    && P::default_max_active >= 1 &&
    P::default_max_active <= max_active_ceiling
    // "In strict order" and "several at once" exclude each other.
    && (!P::fifo || P::default_max_active == 1)
    // The pools of a CPU start the next item when one blocks: that is what concurrency management is. Several items of
    // a queue may be active there, one behind the other, so it is no place for a strict order.
    && (P::pool != pool_kind::per_cpu || (P::concurrency_managed && P::may_block && !P::fifo))
    // One item at a time leaves nothing to manage; and threads are there so that items may block.
    && (P::pool != pool_kind::attrs_keyed || (P::may_block && !(P::fifo && P::concurrency_managed)))
    // Without threads items run one after the other in their caller, who must not be kept waiting.
    && (P::pool != pool_kind::dispatcher || (P::fifo && !P::may_block && !P::concurrency_managed));

static_assert(execution_policy<bound> && execution_policy<unbound> && execution_policy<elastic> &&
              execution_policy<ordered> && execution_policy<bh>);

} // namespace cmwq::inline CMWQ_NS
