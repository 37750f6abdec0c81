// SPDX-License-Identifier: BSL-1.0
//
// What the protocols of parker and mutex wait on. The model has parkers and mutexes of its own.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 1

#include <cmwq/detail/sync/fault_futex.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using futex = fault::futex;

} // namespace cmwq::inline CMWQ_NS::detail

#elif CMWQ_SYNC == 0

#include <cmwq/detail/os/futex.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using futex = os::futex;

} // namespace cmwq::inline CMWQ_NS::detail

#endif
