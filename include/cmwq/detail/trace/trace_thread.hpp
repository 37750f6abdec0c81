// SPDX-License-Identifier: BSL-1.0
//
// trace_thread: the thread of a tracer, which empties the rings.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/helper_thread.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Letters: A atomic · I set before the thread starts
class trace_thread {
public:
    trace_thread() noexcept = default;
    trace_thread(const trace_thread&) = delete;
    trace_thread& operator=(const trace_thread&) = delete;

    /// The work of the thread.
    struct jobs {
        void (*work)(void* context) noexcept; ///< every tenth of a second, and when it was woken
        void (*finish)(void* context) noexcept = [](void*) noexcept {}; ///< before it ends
    };

    /// Returns 0, or an errno.
    int start(const jobs& what, void* context) noexcept {
        what_ = what;
        context_ = context;
        return thread_.start(&trace_thread::thread_main, this);
    }
    [[nodiscard]] parker& bell() noexcept { return sleep_; } ///< any thread may wake it
    void end() noexcept {
        stop_.store(true, release); // [STOP]
        sleep_.unpark();
        thread_.join();
    }
    /// In the child of fork(), where it does not exist.
    void forget() noexcept { thread_.forget(); }

private:
    static constexpr std::int64_t period = 100'000'000; // nanoseconds

    static void thread_main(void* self) { static_cast<trace_thread*>(self)->serve(); }
    void serve() noexcept {
        become_helper("cmwq/trace");
        while (!stop_.load(acquire)) { // [STOP]
            what_.work(context_);
            sleep_.park_until(steady_now() + period);
        }
        what_.finish(context_);
    }

    parker sleep_;             // A
    atomic<bool> stop_{false}; // A
    jobs what_{};              // I
    void* context_ = nullptr;  // I
    thread thread_;            // I
};

}}} // namespace cmwq::CMWQ_NS::detail
