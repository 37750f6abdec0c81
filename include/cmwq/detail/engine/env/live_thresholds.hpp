// SPDX-License-Identifier: BSL-1.0
//
// live_thresholds: the options of a runtime that may change while it exists.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/runtime_options.hpp>

#include <chrono>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One object for each runtime. Any thread may call every member; of two set() at once the values may mix. Times are in
/// nanoseconds; each is as the option of its name.
class live_thresholds {
public:
    explicit live_thresholds(const runtime_options& o) noexcept {
        set({.may_block_threshold = o.may_block_threshold,
             .cpu_hog_threshold = o.cpu_hog_threshold,
             .cpu_hog_warning_threshold = o.cpu_hog_warning_threshold,
             .overdue_after = o.overdue_after,
             .watchdog = o.watchdog});
    }
    live_thresholds(const live_thresholds&) = delete;
    live_thresholds& operator=(const live_thresholds&) = delete;

    [[nodiscard]] std::int64_t may_block() const noexcept { return may_block_.get(); }
    [[nodiscard]] std::int64_t cpu_hog() const noexcept { return cpu_hog_.get(); }
    [[nodiscard]] unsigned cpu_hog_warning() const noexcept { return cpu_hog_warning_.get(); }
    [[nodiscard]] std::int64_t overdue() const noexcept { return overdue_.get(); }
    [[nodiscard]] std::int64_t watchdog() const noexcept { return watchdog_.get(); }

    [[nodiscard]] runtime_thresholds get() const noexcept {
        return {.may_block_threshold = std::chrono::nanoseconds{may_block()},
                .cpu_hog_threshold = std::chrono::nanoseconds{cpu_hog()},
                .cpu_hog_warning_threshold = cpu_hog_warning(),
                .overdue_after = std::chrono::nanoseconds{overdue()},
                .watchdog = std::chrono::nanoseconds{watchdog()}};
    }
    void set(const runtime_thresholds& t) noexcept {
        may_block_.set(t.may_block_threshold.count());
        cpu_hog_.set(t.cpu_hog_threshold.count());
        cpu_hog_warning_.set(t.cpu_hog_warning_threshold);
        overdue_.set(t.overdue_after.count());
        watchdog_.set(t.watchdog.count());
    }

private:
    statistic<std::int64_t> may_block_, cpu_hog_, overdue_, watchdog_;
    statistic<unsigned> cpu_hog_warning_;
};

}}} // namespace cmwq::CMWQ_NS::detail
