// SPDX-License-Identifier: BSL-1.0
//
// A policy that is chosen at run time. A test that runs for each policy is then compiled once, and not once for each.
#pragma once

#include "policy_list.hpp"

#include <string_view>
#include <tuple>
#include <vector>

namespace cmwq_test {

/// The answers of a policy, as values: policy_list.hpp explains them.
struct any_policy {
    std::string_view name;
    unsigned default_max_active;
    bool can_block, runs_one_at_a_time, runs_in_the_caller, has_limit, has_attributes, is_managed;
};

template <class P>
inline constexpr any_policy policy_of{.name = P::name,
                                      .default_max_active = P::default_max_active,
                                      .can_block = can_block<P>,
                                      .runs_one_at_a_time = runs_one_at_a_time<P>,
                                      .runs_in_the_caller = runs_in_the_caller<P>,
                                      .has_limit = has_limit<P>,
                                      .has_attributes = has_attributes<P>,
                                      .is_managed = is_managed<P>};

/// The policies of a list, one after the other.
template <class... P>
std::vector<any_policy> policies_in(std::tuple<P...> /*list*/) {
    return {policy_of<P>...};
}

} // namespace cmwq_test
