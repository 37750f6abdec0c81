// SPDX-License-Identifier: BSL-1.0
//
// affinity_scope: how far the items of an unbound queue may be from the CPU that queued them.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <optional>
#include <string_view>

namespace cmwq::inline CMWQ_NS {

/// What makes CPUs share a pod. In every scope each CPU is in exactly one pod; <cmwq/topology.hpp> computes them.
enum class affinity_scope : unsigned char {
    cpu,         ///< each CPU on its own
    smt,         ///< the CPUs of a core
    cache,       ///< those that share the last level cache
    cache_shard, ///< groups of about eight cores within a last level cache
    numa,        ///< those of a NUMA node
    system,      ///< all
    default_,    ///< what the runtime says; without that, `default_affinity_scope`
};

/// Every scope that has pods of its own, from the narrowest to the widest.
inline constexpr affinity_scope affinity_scopes[] = {affinity_scope::cpu,   affinity_scope::smt,
                                                     affinity_scope::cache, affinity_scope::cache_shard,
                                                     affinity_scope::numa,  affinity_scope::system};

/// What `affinity_scope::default_` means where nobody says otherwise.
inline constexpr affinity_scope default_affinity_scope = affinity_scope::cache_shard;

/// The kernel's word for it: "cpu", "smt", "cache", "cache_shard", "numa", "system", "default". May be called from any
/// thread. The text lives as long as the program.
[[nodiscard]] constexpr std::string_view to_string(affinity_scope scope) noexcept {
    switch (scope) {
    case affinity_scope::cpu: return "cpu";
    case affinity_scope::smt: return "smt";
    case affinity_scope::cache: return "cache";
    case affinity_scope::cache_shard: return "cache_shard";
    case affinity_scope::numa: return "numa";
    case affinity_scope::system: return "system";
    case affinity_scope::default_: break;
    }
    return "default";
}

/// The scope of that name, exactly as `to_string()` spells it; nothing for any other text. May be called from any
/// thread.
[[nodiscard]] constexpr std::optional<affinity_scope> parse_affinity_scope(std::string_view name) noexcept {
    for (const affinity_scope scope : affinity_scopes) {
        if (to_string(scope) == name) return scope;
    }
    if (name == to_string(affinity_scope::default_)) return affinity_scope::default_;
    return std::nullopt;
}

} // namespace cmwq::inline CMWQ_NS
