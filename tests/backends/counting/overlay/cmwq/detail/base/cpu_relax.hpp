// SPDX-License-Identifier: BSL-1.0
//
// The spin hint of the counting backend.
#pragma once

#include <counting/machine.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Takes time, so that the thread for which the caller waits comes closer to its next step.
inline void cpu_relax() noexcept { counting::relax(); }

}}} // namespace cmwq::CMWQ_NS::detail
