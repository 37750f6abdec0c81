// SPDX-License-Identifier: BSL-1.0
//
// manual_clock: a clock that changes only when a test advances it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/runtime_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

/// Helpers for tests of programs that use the library.
namespace cmwq { inline namespace CMWQ_NS { namespace testing {

/// A clock for `runtime_options::clock` whose time changes only by `advance()`. When that returns, the timers that are
/// due have queued their items, and workers that were idle for too long have ended. Other timers do not fire without
/// another `advance()`, so a test can prove without sleeping that an item does not run yet.
///
///     cmwq::testing::manual_clock clock;
///     cmwq::runtime rt{{.clock = &clock}};
///
/// Thread safety: any thread may call `now()`, one thread at a time `advance()`. The clock must outlive the runtimes
/// that use it.
class manual_clock final : public clock_source {
public:
    /// Returns the time in nanoseconds. It begins at one second.
    [[nodiscard]] std::int64_t now() const noexcept override { return now_.load(detail::acquire); } // [ALONE]

    /// Adds a runtime; its constructor calls this. Errors: std::bad_alloc.
    void attach(clock_listener& l) override CMWQ_EXCLUDES(lock_) {
        const detail::scoped_lock g(lock_);
        listeners_.push_back(&l);
    }
    /// Removes a runtime; its destructor calls this.
    void detach(clock_listener& l) noexcept override CMWQ_EXCLUDES(lock_) {
        const detail::scoped_lock g(lock_);
        std::erase(listeners_, &l);
    }

    /// Adds `by` to the time, at most up to the last time that there is, and lets the runtimes fire their timers.
    /// Blocks: while they do that. Errors: none.
    void advance(std::chrono::nanoseconds by) CMWQ_EXCLUDES(lock_) {
        const std::int64_t before = now_.load(detail::relaxed); // written by one thread at a time
        const std::int64_t left = INT64_MAX - before;
        now_.store(before + std::min<std::int64_t>(by.count(), left), detail::release); // [ALONE]
        const detail::scoped_lock g(lock_);
        for (clock_listener* l : listeners_) l->time_passed();
    }

private:
    detail::ranked_mutex<detail::lock_rank::clock> lock_;
    std::vector<clock_listener*> listeners_ CMWQ_GUARDED_BY(lock_);
    detail::atomic<std::int64_t> now_{1'000'000'000}; // not zero, which means "never" to the engine
};

}}} // namespace cmwq::CMWQ_NS::testing
