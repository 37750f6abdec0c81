// SPDX-License-Identifier: BSL-1.0
//
// parker: lets one thread sleep until another thread gives it a permit. One futex word.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/parker_protocol.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using parker = basic_parker<futex>;

/// The parker of one wait, on the stack of the thread that waits.
using transient_parker = basic_parker<futex, parker_lifetime::one_wait>;

}}} // namespace cmwq::CMWQ_NS::detail
