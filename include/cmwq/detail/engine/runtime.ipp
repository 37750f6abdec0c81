// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/engine/global.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmwq::inline CMWQ_NS {

inline runtime::runtime(runtime_options options) : core_(std::make_unique<detail::runtime_core>(std::move(options))) {}

inline runtime::runtime(runtime_options options, detail::made_for whom)
    : core_(std::make_unique<detail::runtime_core>(std::move(options), whom)) {}

inline runtime::~runtime() {
    // In a forked child there is nothing to join, and locks may be held by threads that do not exist here.
    // NOLINTNEXTLINE(bugprone-unused-return-value): leaked on purpose
    if (core_->is_dead()) core_.release();
}

namespace detail {
inline constinit per_process<runtime, lock_rank::once> global_runtime;
}

inline runtime& runtime::global() {
    detail::runtime_core::stay_loaded(); // not below, under the lock
    return detail::global_runtime.get([] { return new runtime(runtime_options{}, detail::made_for::process); });
}

inline const cpuset& runtime::cpus() const noexcept { return core_->cpus(); }

inline cpuset runtime::unbound_cpus() const { return core_->unbound_cpus(); }

inline void runtime::set_unbound_cpus(const cpuset& cpus) { core_->set_unbound_cpus(cpus); }

inline affinity_scope runtime::default_scope() const { return core_->default_scope(); }

inline void runtime::set_default_scope(affinity_scope scope) { core_->set_default_scope(scope); }

inline const topology& runtime::machine() const { return core_->topology_of_machine(); }

inline void runtime::refresh_topology() { core_->check_cpus(); }

inline void runtime::freeze() { core_->freeze(); }

inline bool runtime::frozen() const noexcept { return core_->is_frozen(); }

inline bool runtime::wait_frozen() { return core_->wait_frozen(0); }

inline bool runtime::wait_frozen_for_ns(std::int64_t ns) {
    constexpr std::int64_t never = std::int64_t{1} << 61; // can still be added to the time
    return core_->wait_frozen(detail::steady_now() + std::min(ns, never));
}

inline void runtime::thaw() { core_->thaw(); }

inline freeze_guard::freeze_guard(runtime& rt) : runtime_(rt) {
    rt.freeze();
    try {
        static_cast<void>(rt.wait_frozen());
    } catch (...) {
        rt.thaw();
        throw;
    }
}

inline freeze_guard::~freeze_guard() { runtime_.thaw(); }

inline std::string runtime::dump() const { return core_->dump(); }

inline runtime_stats runtime::stats() const noexcept { return core_->stats(); }

} // namespace cmwq::inline CMWQ_NS
