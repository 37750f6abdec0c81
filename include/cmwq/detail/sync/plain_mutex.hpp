// SPDX-License-Identifier: BSL-1.0
//
// mutex: four bytes, futex based, known to clang's thread safety analysis. The engine's critical sections are tens of
// nanoseconds long, and its workers compete with the holder for one CPU, so it hardly spins.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex_protocol.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using mutex = basic_mutex<futex>;

} // namespace cmwq::inline CMWQ_NS::detail
