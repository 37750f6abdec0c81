// SPDX-License-Identifier: BSL-1.0
//
// burst_size: how many overdue items may start at once.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Items that run may wait for those behind them, in a way that no detector can see: they look again and again. So as
/// long as none of them ends, twice as many others start each time, up to a limit. Otherwise one does. For one thread.
class burst_size {
public:
    static constexpr unsigned most = 16;

    /// Items are overdue. `nr_completed`: how many items of the pool have ended so far. Returns how many may start.
    [[nodiscard]] unsigned next(std::uint64_t nr_completed) noexcept {
        n_ = std::exchange(nr_completed_, nr_completed) == nr_completed ? std::min(2 * n_, most) : 1;
        return n_;
    }

private:
    std::uint64_t nr_completed_ = ~std::uint64_t{0}; // at the last call
    unsigned n_ = 1;
};

}}} // namespace cmwq::CMWQ_NS::detail
