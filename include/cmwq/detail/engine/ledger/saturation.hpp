// SPDX-License-Identifier: BSL-1.0
//
// saturation: for how long items of a pwq have waited for a slot of the limit.
#pragma once

#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Exact to a tick of the kernel for each time. Not thread safe: the lock of the pool guards it.
class saturation {
public:
    /// The first item waits.
    void begin() noexcept { since_ = coarse_now(); }
    /// None waits any more.
    [[gnu::noinline]] void end() noexcept { past_ += coarse_now() - since_; }
    /// All times together, in nanoseconds. `lasts`: an item waits now.
    [[nodiscard]] std::uint64_t time(bool lasts) const noexcept {
        return static_cast<std::uint64_t>(past_ + (lasts ? coarse_now() - since_ : 0));
    }

    /// For how long items have waited since `begin`, coarse clock, at most; while one waits.
    [[nodiscard]] std::uint64_t lasts_since(std::int64_t begin) const noexcept {
        return static_cast<std::uint64_t>(coarse_now() - std::max(since_, begin));
    }

private:
    std::int64_t since_ = 0; // coarse clock
    std::int64_t past_ = 0;  // nanoseconds, without the time since then
};

}}} // namespace cmwq::CMWQ_NS::detail
