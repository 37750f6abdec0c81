// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "workload.hpp"

#include "support/pools/all_pools.hpp"

#include <type_traits>

namespace suite {

/// Adds each pool, measured by `measure(std::type_identity<Pool>, run)`, if `wanted(std::type_identity<Pool>)`.
template <class Measure, class Wanted>
void add_pools(workload& w, Measure measure, Wanted wanted) {
    bench::for_each_pool([&]<class Pool>(std::type_identity<Pool> pool) {
        if constexpr (decltype(wanted(pool))::value)
            w.contenders.push_back({Pool::name(), [measure](const run& r) { measure(std::type_identity<Pool>{}, r); }});
    });
}

/// Adds all pools.
template <class Measure>
void add_pools(workload& w, Measure measure) {
    add_pools(w, measure, [](auto /*pool*/) { return std::true_type{}; });
}

} // namespace suite
