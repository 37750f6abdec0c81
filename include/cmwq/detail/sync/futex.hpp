// SPDX-License-Identifier: BSL-1.0
//
// The futex on which the protocols of parker and mutex wait.
#pragma once

#include <cmwq/detail/os/futex.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using futex = os::futex;

}}} // namespace cmwq::CMWQ_NS::detail
