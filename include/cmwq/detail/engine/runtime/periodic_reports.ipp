// SPDX-License-Identifier: BSL-1.0
//
// The bodies of periodic_reports.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/runtime/periodic_reports.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE int periodic_reports::start() noexcept {
    if (env_.options.metrics.empty() && env_.options.schedtrace.count() == 0) return 0;
    return env_.threads.start(thread_, &periodic_reports::thread_main, this);
}

CMWQ_INLINE void periodic_reports::end() noexcept {
    stop_.store(true, release); // [STOP]
    sleep_.unpark();
    thread_.join();
}

/// The times at which a report is due.
class report_times {
public:
    /// `first`: 0: it is never due.
    report_times(std::int64_t first, std::chrono::nanoseconds interval) noexcept
        : next_(first), interval_(interval.count()) {}
    [[nodiscard]] std::int64_t next() const noexcept { return next_; }
    /// Whether it is due. Then it is due again after the interval; times that have passed are left out.
    [[nodiscard]] bool take(std::int64_t now) noexcept {
        if (next_ == 0 || now < next_) return false;
        next_ = std::max(next_, now - interval_ + 1) + interval_;
        return true;
    }

private:
    std::int64_t next_; // steady clock
    const std::int64_t interval_;
};

CMWQ_INLINE void periodic_reports::serve() noexcept {
    thread_attributes a{.own = env_.threads.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/reports");
    a.cpus = env_.cpus.mask_of_process();
    env_.events.thread_refusals_of(apply_to_this_thread(a), a);
    placement_.helper_began(placement::helper::reports);
    const runtime_options& o = env_.options;
    const std::int64_t began = steady_now();
    report_times files(o.metrics.empty() ? 0 : began, o.metrics_interval);
    report_times lines(o.schedtrace.count() == 0 ? 0 : began + o.schedtrace.count(), o.schedtrace);
    while (!stop_.load(acquire)) { // [STOP]
        const std::int64_t now = steady_now();
        if (files.take(now)) write_metrics();
        if (lines.take(now)) print_line(now - began);
        sleep_.park_until(earlier_of(files.next(), lines.next()));
    }
}

// A failure is printed once, until another one follows or the file has been written.
CMWQ_INLINE void periodic_reports::write_metrics() noexcept {
    int error = 0;
    try {
        error = replace_file(env_.options.metrics, texts_.metrics(runtime_));
    } catch (const std::bad_alloc&) {
        error = ENOMEM;
    }
    if (std::exchange(error_, error) == error || error == 0) return;
    tell_unwritten("the metrics", env_.options.metrics, error);
}

CMWQ_INLINE void periodic_reports::print_line(std::int64_t passed) const noexcept {
    try {
        std::fputs(texts_.line(runtime_, passed / 1'000'000).c_str(), stderr);
    } catch (const std::bad_alloc&) {
        std::fputs("cmwq: there is no memory for a line of schedtrace\n", stderr);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
