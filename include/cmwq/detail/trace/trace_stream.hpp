// SPDX-License-Identifier: BSL-1.0
//
// trace_stream: a trace that is written to a file as it grows.
#pragma once

#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/perfetto_writer.hpp>
#include <cmwq/detail/trace/trace_collector.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One thread at a time.
class trace_stream {
public:
    /// `failure`: null, or gets the errno with which writing ends before close() has returned.
    explicit trace_stream(int* failure) noexcept : failure_(failure) {}
    /// Returns 0, or an errno. Throws std::bad_alloc.
    int open(const std::string& path) {
        path_ = path;
        if (const int error = file_.open(path); error != 0) return error;
        writer_.begin();
        return 0;
    }
    /// Writes what has happened before that time.
    void write_before(std::int64_t time, trace_collector& from) noexcept {
        if (error_ != 0) return from.skip();
        try {
            from.read();
            from.take_before(time, [this](const trace_entry& e) { writer_.add(e); });
            if (const int error = file_.write(writer_.take()); error != 0) fail(error);
        } catch (const std::bad_alloc&) {
            fail(ENOMEM);
        }
    }
    void close() noexcept {
        if (const int error = file_.close(); error != 0) fail(error);
    }

private:
    void fail(int error) noexcept {
        if (std::exchange(error_, error) != 0) return;
        if (failure_ != nullptr) *failure_ = error;
        char reason[64];
        std::fprintf(stderr, "cmwq: the trace %s ends here, because it cannot be written: %s\n", path_.c_str(),
                     ::strerror_r(error, reason, sizeof reason));
    }

    std::string path_;
    output_file file_;
    perfetto_writer writer_;
    int error_ = 0; // with which writing has ended; 0: none
    int* const failure_;
};

}}} // namespace cmwq::CMWQ_NS::detail
