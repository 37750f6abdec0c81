// SPDX-License-Identifier: BSL-1.0
//
// tracer: writes what happens in a runtime to a file that https://ui.perfetto.dev shows. The only header that needs
// Boost, for Boost.Lockfree; <cmwq/cmwq.hpp> does not include it.
#pragma once

#include <cmwq/detail/trace/trace_file.hpp>
#include <cmwq/runtime.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS {

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
    /// file cannot be opened or the system refuses a thread, std::invalid_argument for impossible options,
    /// std::bad_alloc, and as `runtime::attach()`.
    tracer(runtime& rt, const std::string& path, const trace_options& options = {})
        : runtime_(rt), file_(capacity(options)) {
        if (const int error = file_.start(path); error != 0) {
            throw std::system_error(error, std::generic_category(), "cmwq::tracer: " + path);
        }
        try {
            rt.attach(file_.recorder());
        } catch (...) {
            file_.end();
            throw;
        }
    }
    /// Writes the rest, and closes the file. Blocks: until that is done.
    ~tracer() {
        if (detail::main_thread_id() != process_) { // a forked child
            file_.forget();
            return;
        }
        runtime_.detach(file_.recorder());
        file_.end();
    }
    tracer(const tracer&) = delete;
    tracer& operator=(const tracer&) = delete;

    /// How many events the trace lacks, because threads had too many at once, or no memory for them.
    [[nodiscard]] std::uint64_t events_lost() const noexcept { return file_.recorder().nr_lost(); }

private:
    static std::size_t capacity(const trace_options& o) {
        if (o.events_per_thread != 0) return o.events_per_thread;
        throw std::invalid_argument("cmwq::tracer: events_per_thread is 0, it must be at least 1");
    }

    runtime& runtime_;
    const long process_ = detail::main_thread_id();
    detail::trace_file file_;
};

}} // namespace cmwq::CMWQ_NS
