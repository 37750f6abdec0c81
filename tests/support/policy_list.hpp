// SPDX-License-Identifier: BSL-1.0
//
// The policies for which the contract tests run, and the differences between their guarantees.
#pragma once

#include <cmwq/options.hpp>
#include <cmwq/policy.hpp>

#include <string_view>
#include <tuple>
#include <type_traits>

namespace cmwq_test {

/// A policy of a program's own: managed as `elastic`, but its items start in queueing order.
struct in_turn : cmwq::elastic {
    static constexpr std::string_view name = "in_turn";
    static constexpr bool local_lists = false;
};
/// Another one: one item at a time, as `ordered`, in pools that are managed.
struct strand : cmwq::ordered {
    static constexpr std::string_view name = "strand";
    static constexpr bool concurrency_managed = true;
};

/// The tests of a guarantee that all queues give run for each of these policies.
using every_policy = std::tuple<cmwq::bound, cmwq::unbound, cmwq::elastic, cmwq::ordered, cmwq::bh, in_turn, strand>;

/// Items may wait for each other, or for the test.
template <class P>
inline constexpr bool can_block = P::may_block;

/// One item of a queue runs at a time, on the whole machine (bh: on each CPU).
template <class P>
inline constexpr bool runs_one_at_a_time = P::fifo;

/// The item runs before queue() returns, in the calling thread: that thread cannot see the item pending.
template <class P>
inline constexpr bool runs_in_the_caller = P::pool == cmwq::pool_kind::dispatcher;

/// max_active is an option, and can be changed.
template <class P>
inline constexpr bool has_limit = requires(cmwq::options<P> o) { o.max_active; };

/// The pools depend on attributes, which can be changed.
template <class P>
inline constexpr bool has_attributes = P::pool == cmwq::pool_kind::attrs_keyed;

/// The pool detects blocked workers and replaces them: as many run as there are CPUs.
template <class P>
inline constexpr bool is_managed = P::concurrency_managed;

// clang-format off
template <class P> struct keep_limited : std::bool_constant<has_limit<P>> {};
template <class P> struct keep_keyed : std::bool_constant<has_attributes<P>> {};
template <class P> struct keep_threaded : std::bool_constant<!runs_in_the_caller<P>> {};
template <class P> struct keep_crowded : std::bool_constant<!runs_in_the_caller<P> && !runs_one_at_a_time<P>> {};
template <class P> struct keep_parallel : std::bool_constant<has_attributes<P> && !runs_one_at_a_time<P>> {};
// clang-format on

template <template <class> class Keep, class... P>
auto only(std::tuple<P...>)
    -> decltype(std::tuple_cat(std::conditional_t<Keep<P>::value, std::tuple<P>, std::tuple<>>{}...));

/// Policies whose limit is an option.
using limited_policies = decltype(only<keep_limited>(every_policy{}));
/// Policies with workers: they can have a rescuer, and be frozen.
using threaded_policies = decltype(only<keep_threaded>(every_policy{}));
/// Policies with workers that run several items at once.
using crowded_policies = decltype(only<keep_crowded>(every_policy{}));
/// Policies with attributes.
using keyed_policies = decltype(only<keep_keyed>(every_policy{}));
/// Policies with attributes that run several items at once.
using parallel_policies = decltype(only<keep_parallel>(every_policy{}));

/// Options of a queue with at most `n` active items (bound: on each CPU), if the policy has that option.
template <class P>
cmwq::options<P> at_most(unsigned n, std::string_view name) {
    cmwq::options<P> o;
    o.name = name;
    if constexpr (has_limit<P>) o.max_active = n;
    return o;
}

} // namespace cmwq_test
