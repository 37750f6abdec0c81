// SPDX-License-Identifier: BSL-1.0
//
// start_gap: how long items have been pending while none was started.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/statistic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// For one thread, which calls it at regular intervals, unless a member says otherwise. Times are in nanoseconds.
class start_gap {
public:
    /// Whether items have been pending for `limit`, in all calls since then, without a start; that time then begins
    /// again. A limit of 0 is never reached. `pending`: whether items are pending now. `nr_started`: how many starts
    /// there were so far. `passed`: since the last call, without times in which the process could not run.
    [[nodiscard]] bool has_lasted(bool pending, std::uint64_t nr_started, std::int64_t passed,
                                  std::int64_t limit) noexcept {
        if (!pending || nr_started != nr_started_) {
            nr_started_ = nr_started;
            told_at_ = 0;
            lasted_.set(0);
            return false;
        }
        lasted_.set(lasted() + passed);
        if (limit == 0 || lasted() - told_at_ < limit) return false;
        told_at_ = lasted();
        return true;
    }
    /// For how long items have been pending without a start. Any thread.
    [[nodiscard]] std::int64_t lasted() const noexcept { return lasted_.get(); }

private:
    std::uint64_t nr_started_ = 0; // at the last call
    std::int64_t told_at_ = 0;     // `lasted_` when has_lasted() was true
    statistic<std::int64_t> lasted_;
};

}}} // namespace cmwq::CMWQ_NS::detail
