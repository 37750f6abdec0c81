// SPDX-License-Identifier: BSL-1.0
//
// tracer, flight_recorder: what happens in a runtime, in files that https://ui.perfetto.dev shows. A program that
// includes this header also has the options `trace` and `flight_recorder` of a runtime. The only header that needs
// Boost, for Boost.Lockfree; <cmwq/cmwq.hpp> does not include it.
#pragma once

#include <cmwq/detail/engine/env/cpu_map.hpp>
#include <cmwq/detail/engine/runtime/ends_at_exit.hpp>
#include <cmwq/detail/engine/runtime/wanted_leaves.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/flight_log.hpp>
#include <cmwq/detail/trace/trace_session.hpp>
#include <cmwq/detail/trace/trace_stream.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/runtime_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {
class one_trace;
}

/// How a tracer records.
struct trace_options {
    /// How many events of one thread may wait for the tracer, 80 bytes each. Further ones are lost, and the trace says
    /// so. Zero makes the constructor throw std::invalid_argument.
    std::size_t events_per_thread = 16'384;
};

/// Writes a trace of a runtime from its construction to its destruction, in the format of Perfetto. The trace has a
/// track for each thread, with a slice for each item, and in it the blocks whose end is known; an arrow from the call
/// that queued the item to its run; and for each queue the number of items that are pending and running.
///
///     cmwq::tracer trace{cmwq::runtime::global(), "program.pftrace"};
///
/// An item takes one to two microseconds longer meanwhile. A thread of the tracer writes the file, ten times a second
/// or more often; from a forked child it writes nothing. If the file cannot be written any more, a line on the standard
/// error says so, and the rest is missing.
///
/// Thread safety: any thread may call the members.
class tracer {
public:
    /// The runtime must outlive the tracer. A former file of this path is replaced. Errors: std::system_error if the
    /// file cannot be opened, or, device_or_resource_busy, if another tracer of this or another process writes it, or
    /// the system refuses a thread; std::invalid_argument for impossible options, std::bad_alloc, and as
    /// `runtime::attach()`.
    tracer(runtime& rt, const std::string& path, const trace_options& options = {})
        : tracer(rt, path, options, nullptr) {}
    /// Writes the rest, and closes the file. Blocks: until that is done.
    ~tracer() { session_.stop(); }
    tracer(const tracer&) = delete;
    tracer& operator=(const tracer&) = delete;

    /// How many events the trace lacks, because threads had too many at once, or no memory for them.
    [[nodiscard]] std::uint64_t events_lost() const noexcept { return session_.recorder().nr_lost(); }

private:
    friend class detail::one_trace;
    // `failure`: null, or gets the errno with which writing has failed, before the tracer has ended.
    tracer(runtime& rt, const std::string& path, const trace_options& options, int* failure)
        : stream_(failure), session_(rt, options.events_per_thread) {
        if (const int error = stream_.open(path); error != 0) {
            throw std::system_error(error, std::generic_category(), "cmwq::tracer: " + path);
        }
        session_.start({.work = &tracer::work, .finish = &tracer::finish}, this);
    }

    static void work(void* self) noexcept {
        auto& t = *static_cast<tracer*>(self);
        t.stream_.write_before(detail::steady_now() - detail::trace_session::settled, t.session_.collector());
    }
    static void finish(void* self) noexcept { // after the last event
        auto& t = *static_cast<tracer*>(self);
        t.stream_.write_before(INT64_MAX, t.session_.collector());
        t.stream_.close();
    }

    detail::trace_stream stream_;
    detail::trace_session session_;
};

/// How a flight recorder records.
struct flight_recorder_options {
    /// The file that is written, once, when the runtime first reports that something hangs: `event::kind::stalled`,
    /// `saturated` or `deadlock`. A relative path begins in the folder in which the recorder is made. A line on the
    /// standard error names the file. Empty: none.
    std::string file = {};
    /// How long events are kept. Zero or less makes the constructor throw std::invalid_argument.
    std::chrono::nanoseconds keep = std::chrono::seconds{10};
    /// How many events are kept at most, some 130 bytes each. Zero makes the constructor throw std::invalid_argument.
    std::size_t max_events = 250'000;
    /// As `trace_options::events_per_thread`.
    std::size_t events_per_thread = 16'384;
};

/// Keeps the last events of a runtime in memory, and makes traces of them as a `tracer` does: when something hangs, and
/// on demand. A trace also has the items that had started before that time and still run.
///
///     cmwq::flight_recorder recorder{cmwq::runtime::global(), {.file = "hang.pftrace"}};
///
/// Costs: as a `tracer`, without the file. Thread safety: any thread may call the members.
class flight_recorder {
public:
    /// The runtime must outlive the recorder. Errors: std::invalid_argument for impossible options, std::system_error
    /// if the system refuses a thread, std::bad_alloc, and as `runtime::attach()`.
    explicit flight_recorder(runtime& rt, const flight_recorder_options& options = {})
        : session_(rt, options.events_per_thread),
          log_(options.file, detail::trace_session::positive(options.keep, "keep").count(),
               detail::trace_session::positive(options.max_events, "max_events")) {
        session_.start({.work = &flight_recorder::work}, this);
    }
    /// No call of `snapshot()` may be in progress.
    ~flight_recorder() { session_.stop(); }
    flight_recorder(const flight_recorder&) = delete;
    flight_recorder& operator=(const flight_recorder&) = delete;

    /// Writes a trace of what has happened until now. A reader of the file never sees a part of it. Blocks: until it is
    /// written; not to be called in a bottom half, nor in a forked child. Errors: std::system_error if it cannot be
    /// written; a former file is still there then.
    void snapshot(const std::string& path) {
        if (const int error = log_.snapshot(path, session_.bell()); error != 0) {
            throw std::system_error(error, std::generic_category(), "cmwq::flight_recorder: " + path);
        }
    }

    /// How many events were lost, because threads had too many at once, or no memory for them.
    [[nodiscard]] std::uint64_t events_lost() const noexcept { return session_.recorder().nr_lost(); }

private:
    static void work(void* self) noexcept {
        auto& f = *static_cast<flight_recorder*>(self);
        const bool hangs = f.session_.recorder().hangs(); // before its events are read
        f.log_.work(f.session_.collector(), detail::trace_session::settled, hangs);
    }

    detail::trace_session session_;
    detail::flight_log log_;
};

namespace detail {

/// One object for each runtime whose options want it.
class traces_by_option final : public wanted_traces {
public:
    traces_by_option(runtime& rt, const runtime_options& o) {
        attempt("the trace", o.trace, [&] { tracer_.emplace(rt, o.trace); });
        attempt("the last events", o.flight_recorder,
                [&] { recorder_.emplace(rt, flight_recorder_options{.file = o.flight_recorder}); });
    }

    bool snapshot(const std::string& path) override {
        if (recorder_.has_value()) recorder_->snapshot(path);
        return recorder_.has_value();
    }

    void end_at_exit() noexcept { tracer_.reset(); }

private:
    template <class F>
    static void attempt(const char* what, const std::string& path, const F& f) {
        if (path.empty()) return;
        try {
            f();
        } catch (const std::system_error& e) {
            tell_unwritten(what, path, e.code().value());
        }
    }

    std::optional<tracer> tracer_;
    std::optional<flight_recorder> recorder_;
};

class one_trace final : public wanted_traces {
public:
    one_trace(runtime& rt, const std::string& path, int& failure) : tracer_(rt, path, {}, &failure) {}
    bool snapshot(const std::string& /*path*/) override { return false; }

private:
    tracer tracer_;
};

[[gnu::weak]] std::unique_ptr<wanted_traces> make_trace(runtime& rt, const std::string& path, int& failure) {
    return std::make_unique<one_trace>(rt, path, failure);
}

[[gnu::weak]] std::unique_ptr<wanted_traces> make_wanted_traces(runtime& rt, const runtime_options& o, made_for whom) {
    auto made = std::make_unique<traces_by_option>(rt, o);
    if (whom == made_for::process) ends_at_exit<traces_by_option>::arm(*made);
    return made;
}

} // namespace detail

}} // namespace cmwq::CMWQ_NS
