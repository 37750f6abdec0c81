// SPDX-License-Identifier: BSL-1.0
//
// parker: lets one thread sleep until another thread gives it a permit. One futex word.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/parker_protocol.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using parker = basic_parker<futex>;

}}} // namespace cmwq::CMWQ_NS::detail
