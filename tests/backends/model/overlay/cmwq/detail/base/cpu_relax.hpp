// SPDX-License-Identifier: BSL-1.0
//
// The spin hint of the model backend.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Does nothing: a bounded spin must be able to end before another thread has made a step; otherwise the code behind it
/// would not be tested. Loops without a bound use `backoff`.
inline void cpu_relax() noexcept {}

}}} // namespace cmwq::CMWQ_NS::detail
