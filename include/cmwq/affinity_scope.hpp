// SPDX-License-Identifier: BSL-1.0
//
// affinity_scope: how far an item of an unbound queue may run from the CPU on which it was queued.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <optional>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS {

/// The property that the CPUs of one pod share. In every scope each CPU is in exactly one pod. `topology` computes the
/// pods.
enum class affinity_scope : unsigned char {
    cpu,         ///< each CPU on its own
    smt,         ///< the CPUs of a core
    cache,       ///< the CPUs that share a last level cache
    cache_shard, ///< groups of about eight cores within a last level cache
    numa,        ///< the CPUs of a NUMA node
    system,      ///< all CPUs
    default_,    ///< the default scope of the runtime
};

/// All scopes that have pods of their own, from the narrowest to the widest.
inline constexpr affinity_scope affinity_scopes[] = {affinity_scope::cpu,   affinity_scope::smt,
                                                     affinity_scope::cache, affinity_scope::cache_shard,
                                                     affinity_scope::numa,  affinity_scope::system};

/// The scope that `affinity_scope::default_` stands for unless a runtime has another default.
inline constexpr affinity_scope default_affinity_scope = affinity_scope::cache_shard;

/// Returns the kernel's name of a scope: "cpu", "smt", "cache", "cache_shard", "numa", "system", "default". The text
/// lives as long as the program. Thread safety: any thread. Errors: none.
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

/// Returns the scope with that name, in the spelling of `to_string()`, or std::nullopt for any other text. Thread
/// safety: any thread. Errors: none.
[[nodiscard]] constexpr std::optional<affinity_scope> parse_affinity_scope(std::string_view name) noexcept {
    for (const affinity_scope scope : affinity_scopes) {
        if (to_string(scope) == name) return scope;
    }
    if (name == to_string(affinity_scope::default_)) return affinity_scope::default_;
    return std::nullopt;
}

}} // namespace cmwq::CMWQ_NS
