// SPDX-License-Identifier: BSL-1.0
//
// A clock that stands still until a test moves it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/runtime_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace cmwq::inline CMWQ_NS::testing {

/// For `runtime_options::clock`. `advance()` fires what is due before it returns: timers have queued their items, and
/// workers that were idle for too long have ended. What it did not fire will not fire without another `advance()`, so a
/// test can prove that something does not happen yet without sleeping.
///
///     cmwq::testing::manual_clock clock;
///     cmwq::runtime rt{{.clock = &clock}};
///
/// Thread safety: `now()` from any thread, `advance()` from one at a time. It must outlive the runtimes that use it.
class manual_clock final : public clock_source {
public:
    [[nodiscard]] std::int64_t now() const noexcept override { return now_.load(detail::acquire); } // [ALONE]

    void attach(clock_listener& l) override CMWQ_EXCLUDES(lock_) {
        const detail::scoped_lock g(lock_);
        listeners_.push_back(&l);
    }
    void detach(clock_listener& l) noexcept override CMWQ_EXCLUDES(lock_) {
        const detail::scoped_lock g(lock_);
        std::erase(listeners_, &l);
    }

    void advance(std::chrono::nanoseconds by) CMWQ_EXCLUDES(lock_) {
        now_.fetch_add(by.count(), detail::acq_rel); // [ALONE]
        const detail::scoped_lock g(lock_);
        for (clock_listener* l : listeners_) l->time_passed();
    }

private:
    detail::ranked_mutex<detail::lock_rank::clock> lock_;
    std::vector<clock_listener*> listeners_ CMWQ_GUARDED_BY(lock_);
    detail::atomic<std::int64_t> now_{1'000'000'000}; // not zero, which the engine takes for "never"
};

} // namespace cmwq::inline CMWQ_NS::testing
