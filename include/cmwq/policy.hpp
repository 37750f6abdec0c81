// SPDX-License-Identifier: BSL-1.0
//
// Policies: structs of compile-time constants that define how the items of a queue are executed.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <concepts>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS {

/// The kind of pools that serve a queue.
enum class pool_kind : unsigned char {
    per_cpu,     ///< the shared pools of the CPU on which an item is queued
    attrs_keyed, ///< pools shared by all queues of equal attributes, one for each pod of their affinity scope
    dispatcher,  ///< bottom-half contexts, without threads: the thread that queues an item runs it
};

/// The bound policy: items run on the CPU on which they were queued, where one worker at a time is runnable.
///
/// - Place: the CPU of the caller of `queue()`, or the CPU that `queue_on()` names. If the item still runs on another
///   CPU, the same worker runs it again there.
/// - Concurrency: on each CPU, at most `max_active` items of one queue have started or are next in line to start. Of
///   the items of all queues of a CPU and priority, one is runnable at a time: the next one starts when that one blocks
///   or ends.
/// - Order: the items of one queue start in queueing order on each CPU. There is no order between CPUs.
/// - Blocking: allowed, in any call. The pool then starts another item, within microseconds as a rule. If a dozen or
///   more items are blocked already, it does so once the CPU has stayed idle for a moment.
/// - Wake-ups: the producer wakes one idle worker if no item runs on that CPU. The pool replaces a blocked worker.
/// - Flush: waits until every item queued before, on any CPU, has run or was cancelled.
/// - Progress: an item may wait for up to `max_active - 1` other items of its queue and CPU.
struct bound {
    /// The name of queues that have no name of their own.
    static constexpr std::string_view name = "bound";
    /// The pools that serve the queues.
    static constexpr pool_kind pool = pool_kind::per_cpu;
    /// Pools start another item when one blocks.
    static constexpr bool concurrency_managed = true;
    /// Items that items queue wait in the order of the queue.
    static constexpr bool local_lists = false;
    /// Items may block.
    static constexpr bool may_block = true;
    /// Several items may run at once.
    static constexpr bool fifo = false;
    /// The default of the option `max_active`.
    static constexpr unsigned default_max_active = 256;
};

/// The unbound policy: items run on any CPU that the scheduler chooses, as soon as there is a thread and the limit
/// allows.
///
/// - Place: a thread of the pool that serves the caller's pod, which the affinity scope of `attrs` defines. The threads
///   of strict pools stay inside the pod; other pools prefer a worker that was in the pod last.
/// - Concurrency: up to `max_active` items on the whole machine.
/// - Order: the items of one pod start in queueing order. There is no order between pods.
/// - Blocking: allowed. The next item does not wait for the blocked one.
/// - Wake-ups: the producer wakes one idle worker. Each worker that finds more pending items wakes the next worker.
/// - Flush: waits until every item queued before, in any pod, has run or was cancelled.
/// - Progress: a chain of up to `min_active` items that wait for each other completes, if the other items end.
struct unbound {
    /// The name of queues that have no name of their own.
    static constexpr std::string_view name = "unbound";
    /// The pools that serve the queues.
    static constexpr pool_kind pool = pool_kind::attrs_keyed;
    /// Pools do not watch whether items block.
    static constexpr bool concurrency_managed = false;
    /// Items that items queue wait in the order of the queue.
    static constexpr bool local_lists = false;
    /// Items may block.
    static constexpr bool may_block = true;
    /// Several items may run at once.
    static constexpr bool fifo = false;
    /// The default of the option `max_active`.
    static constexpr unsigned default_max_active = 256;
};

/// The elastic policy: unbound, with concurrency management.
///
/// - Place: as with `unbound`.
/// - Concurrency: up to `max_active` items on the whole machine have started. One of them is runnable for each CPU of
///   the pod, and one more for each other CPU that the queue may use and that would be idle.
/// - Order: none. An item that another item queues on its own queue starts soon on the same worker, the newest one
///   first, or is taken by an idle worker. Items that come from elsewhere start in queueing order, mixed with these.
///   While an item of the pool has waited for some milliseconds, the oldest one goes first, so none waits for long.
/// - Blocking: allowed, in any call, announced or not: the pool starts another item in its place, within microseconds
///   as a rule. When blocked workers run again, surplus ones take no further item.
/// - Waiting: an item that waits for an item of the pool by `work_base::flush()` runs it, if it has not started.
/// - Wake-ups: the producer wakes a worker while fewer workers run than the pod has CPUs. The pool replaces blocked
///   workers.
/// - Flush: as with `unbound`.
/// - Progress: as with `unbound`.
struct elastic : unbound {
    /// The name of queues that have no name of their own.
    static constexpr std::string_view name = "elastic";
    /// Pools start another item when one blocks.
    static constexpr bool concurrency_managed = true;
    /// Items that items queue on their own queue stay with their worker.
    static constexpr bool local_lists = true;
};

/// The ordered policy: one item at a time on the whole machine, in queueing order.
///
/// - Place: a thread of the unbound pool that spans all CPUs of its `attrs`.
/// - Concurrency: one item, also while attributes and CPU masks change.
/// - Order: queueing order, always.
/// - Blocking: allowed; the next item waits for the blocked one.
/// - Wake-ups: the producer wakes an idle worker if the queue is empty; the end of an item starts the next one.
/// - Flush: waits until every item queued before has run or was cancelled.
/// - Progress: an item must not wait for an item that was queued behind it.
struct ordered : unbound {
    /// The name of queues that have no name of their own.
    static constexpr std::string_view name = "ordered";
    /// Items run one at a time, in queueing order.
    static constexpr bool fifo = true;
    /// Their limit, which is fixed.
    static constexpr unsigned default_max_active = 1;
};

/// The bottom-half policy: the thread that queues an item runs it, before `queue()` returns.
///
/// - Place: the thread that queues the item, in the bottom-half context of its CPU. Inside a `bh_disable_guard` the
///   item runs at the end of the guard. An item that is queued to another CPU or by a timer, or that is beyond the
///   budget of 10 rounds or 2 ms, runs on the bottom-half thread of its CPU.
/// - Concurrency: one item for each CPU and priority.
/// - Order: queueing order for each CPU and priority. An item that a bottom half queues goes to the end: items never
///   nest.
/// - Blocking: not allowed. A `blocking_region` in it ends the program with a diagnosis. Waiting for items or queues
///   throws std::system_error(operation_not_permitted); for the item itself or its own queue
///   std::system_error(resource_deadlock_would_occur), as in any item.
/// - Wake-ups: none, as a rule.
/// - Flush: waits until every item queued before, on any CPU, has run or was cancelled.
/// - Progress: an item that never ends stops the bottom halves of its CPU and priority.
struct bh {
    /// The name of queues that have no name of their own.
    static constexpr std::string_view name = "bh";
    /// The pools that serve the queues.
    static constexpr pool_kind pool = pool_kind::dispatcher;
    /// Pools do not watch whether items block.
    static constexpr bool concurrency_managed = false;
    /// Items that items queue wait in the order of the queue.
    static constexpr bool local_lists = false;
    /// Items must not block.
    static constexpr bool may_block = false;
    /// Items run one at a time, in queueing order.
    static constexpr bool fifo = true;
    /// Their limit, which is fixed.
    static constexpr unsigned default_max_active = 1;
};

/// The highest `max_active` of any policy.
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

// Without the answer, a queue that is as `elastic` in all else has them.
template <class P>
consteval bool has_local_lists() {
    if constexpr (requires { P::local_lists; }) return P::local_lists;
    else return P::pool == pool_kind::attrs_keyed && P::concurrency_managed && !P::fifo;
}

// The rules for the answers. Each one has its sentence in workqueue<Policy>.

// The constructor of a queue accepts the default limit.
template <class P>
concept limit_rule = P::default_max_active >= 1 && P::default_max_active <= max_active_ceiling;
// A strict order and several items at once exclude each other.
template <class P>
concept fifo_rule = !P::fifo || P::default_max_active == 1;
// The pools of a CPU start the next item when one blocks: this is concurrency management. Several items of a queue may
// be active there at once, so these pools cannot keep a strict order.
template <class P>
concept per_cpu_rule = P::pool != pool_kind::per_cpu || (P::concurrency_managed && P::may_block && !P::fifo);
// Pools with threads let items block.
template <class P>
concept keyed_rule = P::pool != pool_kind::attrs_keyed || P::may_block;
// An item waits on the list of a worker only while enough workers run, which managed pools alone know, and it then
// starts in no order. The pools of a CPU have one running worker, so its list would be their worklist.
template <class P>
concept lists_rule = !has_local_lists<P>() || (P::pool == pool_kind::attrs_keyed && P::concurrency_managed && !P::fifo);
// Without threads items run one after the other in their caller, so they must not block it.
template <class P>
concept dispatcher_rule = P::pool != pool_kind::dispatcher || (P::fifo && !P::may_block && !P::concurrency_managed);

} // namespace detail

/// A type that has all members of a policy, in a combination that the library supports. The five policies of the
/// library are such types; a program may define others. `local_lists` may be left out: it is then true for policies on
/// attribute-keyed pools with concurrency management that are not `fifo`.
template <class P>
concept execution_policy =
    detail::has_all_answers<P> && detail::limit_rule<P> && detail::fifo_rule<P> && detail::per_cpu_rule<P> &&
    detail::keyed_rule<P> && detail::lists_rule<P> && detail::dispatcher_rule<P>;

static_assert(execution_policy<bound> && execution_policy<unbound> && execution_policy<elastic> &&
              execution_policy<ordered> && execution_policy<bh>);

}} // namespace cmwq::CMWQ_NS
