// SPDX-License-Identifier: BSL-1.0
//
// transient_parker: the parker of one wait, on the stack of the thread that waits.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/transient_parker_protocol.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using transient_parker = basic_transient_parker<futex>;

}}} // namespace cmwq::CMWQ_NS::detail
