// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// Nothing: a bounded spin must be able to end without the others having moved, or what follows it would go untested.
/// Unbounded waiting is `backoff`'s.
inline void cpu_relax() noexcept {}

} // namespace cmwq::inline CMWQ_NS::detail
