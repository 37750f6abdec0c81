// SPDX-License-Identifier: BSL-1.0
//
// mutex: four bytes, based on a futex, known to clang's thread safety analysis. It spins only briefly, because the
// engine's critical sections take tens of nanoseconds, and its workers compete with the holder for one CPU.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex_protocol.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using mutex = basic_mutex<futex>;

}}} // namespace cmwq::CMWQ_NS::detail
