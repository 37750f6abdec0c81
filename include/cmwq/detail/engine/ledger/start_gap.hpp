// SPDX-License-Identifier: BSL-1.0
//
// start_gap: how long items have been pending while none was started.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// For one thread, which calls it at regular intervals.
class start_gap {
public:
    /// Whether items have been pending for `limit` nanoseconds, in all calls since then, without a start; the time then
    /// begins again. `pending`: whether items are pending now. `nr_started`: how many starts there were so far.
    /// `passed`: nanoseconds since the last call, without times in which the process could not run.
    [[nodiscard]] bool has_lasted(bool pending, std::uint64_t nr_started, std::int64_t passed,
                                  std::int64_t limit) noexcept {
        if (!pending || nr_started != nr_started_) {
            nr_started_ = nr_started;
            lasted_ = 0;
            return false;
        }
        lasted_ += passed;
        if (lasted_ < limit) return false;
        lasted_ = 0;
        return true;
    }

private:
    std::uint64_t nr_started_ = 0; // at the last call
    std::int64_t lasted_ = 0;      // nanoseconds
};

}}} // namespace cmwq::CMWQ_NS::detail
