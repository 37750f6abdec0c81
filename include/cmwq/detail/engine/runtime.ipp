// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/engine/global.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/runtime.hpp>

#include <utility>

namespace cmwq::inline CMWQ_NS {

inline runtime::runtime(runtime_options options) : core_(std::make_unique<detail::runtime_core>(std::move(options))) {}

inline runtime::~runtime() {
    // In a forked child there is nothing to join, and locks may be held by threads that do not exist here.
    // NOLINTNEXTLINE(bugprone-unused-return-value): leaked on purpose
    if (detail::directory::pin(core_->id()).dead) core_.release();
}

inline runtime& runtime::global() {
    static auto& instance = *new detail::per_process<runtime>;
    return instance.get([] { return new runtime; });
}

inline const cpuset& runtime::cpus() const noexcept { return core_->cpus(); }

inline runtime_stats runtime::stats() const noexcept { return core_->stats(); }

} // namespace cmwq::inline CMWQ_NS
