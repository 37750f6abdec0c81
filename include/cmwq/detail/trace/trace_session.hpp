// SPDX-License-Identifier: BSL-1.0
//
// trace_session: what every tracer has: the observer of a runtime, and a thread that reads what that is told.
#pragma once

#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/trace_collector.hpp>
#include <cmwq/detail/trace/trace_recorder.hpp>
#include <cmwq/detail/trace/trace_thread.hpp>
#include <cmwq/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Its owner calls stop() before it is destroyed, if start() has not thrown.
class trace_session {
public:
    /// Threads put down an event soon after its time, but may lose their CPUs in between. So entries are in order when
    /// they are as old as this, in nanoseconds.
    static constexpr std::int64_t settled = 200'000'000;

    /// Throws std::invalid_argument.
    trace_session(runtime& rt, std::size_t events_per_thread)
        : runtime_(rt), recorder_(positive(events_per_thread, "events_per_thread"), thread_.bell()) {}
    trace_session(const trace_session&) = delete;
    trace_session& operator=(const trace_session&) = delete;

    [[nodiscard]] trace_collector& collector() noexcept { return collector_; }
    [[nodiscard]] const trace_recorder& recorder() const noexcept { return recorder_; }
    [[nodiscard]] parker& bell() noexcept { return thread_.bell(); }

    /// From here on its thread does that. All signals are blocked there, so what it writes can raise none, like
    /// SIGPIPE, in a thread of the program. Throws std::system_error, and as runtime::attach().
    void start(const trace_thread::jobs& what, void* context) {
        if (const int error = thread_.start(what, context); error != 0) {
            throw std::system_error(error, std::generic_category(), "cmwq: the thread of a tracer cannot be made");
        }
        try {
            runtime_.attach(recorder_);
        } catch (...) {
            thread_.end();
            throw;
        }
    }
    /// When it returns, neither the thread nor any other calls anything of the tracer. In a forked child the tracer
    /// belongs to the parent: nothing is finished.
    void stop() noexcept {
        if (main_thread_id() != process_) return thread_.forget();
        runtime_.detach(recorder_);
        thread_.end();
    }

    /// Throws std::invalid_argument.
    template <class T>
    static T positive(T value, const char* option) {
        if (value > T{}) return value;
        throw std::invalid_argument(std::string("cmwq: the option ") + option + " of a tracer must be more than 0");
    }

private:
    runtime& runtime_;
    const long process_ = main_thread_id();
    trace_thread thread_;
    trace_recorder recorder_;
    trace_collector collector_{recorder_};
};

}}} // namespace cmwq::CMWQ_NS::detail
