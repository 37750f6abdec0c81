// SPDX-License-Identifier: BSL-1.0
//
// Short names for the memory orders that each operation on an atomic has to name.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <atomic>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using memory_order = std::memory_order;
inline constexpr memory_order relaxed = std::memory_order_relaxed;
inline constexpr memory_order acquire = std::memory_order_acquire;
inline constexpr memory_order release = std::memory_order_release;
inline constexpr memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr memory_order seq_cst = std::memory_order_seq_cst;

}}} // namespace cmwq::CMWQ_NS::detail
