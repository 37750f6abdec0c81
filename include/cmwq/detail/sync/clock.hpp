// SPDX-License-Identifier: BSL-1.0
//
// The steady clock as the engine sees it: nanoseconds in an int64_t.
#pragma once

#include <cmwq/detail/config.hpp>

#include <cstdint>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#else

#include <ctime>

namespace cmwq::inline CMWQ_NS::detail {

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t steady_now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
