// SPDX-License-Identifier: BSL-1.0
//
// earlier_of(): the next deadline of a thread that serves several sources of deadlines.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The earlier of two times, where 0 means none.
constexpr std::int64_t earlier_of(std::int64_t a, std::int64_t b) noexcept {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

}}} // namespace cmwq::CMWQ_NS::detail
