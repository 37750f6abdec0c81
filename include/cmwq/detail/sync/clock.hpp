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

#if CMWQ_SYNC == 1
#include <cmwq/detail/sync/fault.hpp>
#endif

namespace cmwq::inline CMWQ_NS::detail {

/// CLOCK_MONOTONIC in nanoseconds; with the fault backend it is ahead of that by what it has jumped.
inline std::int64_t steady_now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    const std::int64_t now = std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
#if CMWQ_SYNC == 1
    return now + fault::ahead_after_a_jump();
#else
    return now;
#endif
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
