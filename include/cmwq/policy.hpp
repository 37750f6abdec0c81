// SPDX-License-Identifier: BSL-1.0
//
// Policies: structs of compile-time answers that say how the items of a queue are executed.
#pragma once

#include <cmwq/detail/config.hpp>

#include <concepts>
#include <string_view>

namespace cmwq::inline CMWQ_NS {

/// Which pools serve a queue.
enum class pool_kind : unsigned char {
    per_cpu, ///< the shared pools of the CPU on which an item is queued
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
    // The pools of a CPU start the next item when one blocks: that is what concurrency management is.
    && (P::pool != pool_kind::per_cpu || (P::concurrency_managed && P::may_block));

static_assert(execution_policy<bound>);

} // namespace cmwq::inline CMWQ_NS
