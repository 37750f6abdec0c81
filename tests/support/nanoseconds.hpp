// SPDX-License-Identifier: BSL-1.0
//
// Units of time for code that counts nanoseconds.
#pragma once

#include <cstdint>

namespace cmwq_test {

inline constexpr std::int64_t us = 1'000, ms = 1'000 * us, second = 1'000 * ms;

} // namespace cmwq_test
