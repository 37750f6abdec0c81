// SPDX-License-Identifier: BSL-1.0
//
// flight_log: the history of a flight recorder, and the files that are made of it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/trace_collector.hpp>
#include <cmwq/detail/trace/trace_history.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Letters: A atomic · I set by the constructor · R the thread of the recorder
class flight_log {
public:
    /// `keep`: nanoseconds. Throws std::bad_alloc.
    flight_log(const std::string& file, std::int64_t keep, std::size_t most)
        : file_(file.empty() ? file : absolute_path(file)), keep_(keep), most_(most) {}
    flight_log(const flight_log&) = delete;
    flight_log& operator=(const flight_log&) = delete;

    /// Any thread but that of the recorder, which `bell` wakes. Returns 0, or an errno.
    int snapshot(const std::string& path, parker& bell) noexcept {
        request r{path};
        r.next = requests_.load(relaxed);
        while (!requests_.compare_exchange_weak(r.next, &r, release, relaxed)) {} // [TRACE-4]
        bell.unpark();
        r.done.park();
        return r.error;
    }

    // --- the thread of the recorder ----------------------------------------------------------------------------------

    /// Takes the entries that are as old as `settled`, in nanoseconds. If threads want files, or something hangs for
    /// the first time and the options name a file, it takes all, and writes these.
    void work(trace_collector& from, std::int64_t settled, bool hangs) noexcept {
        request* r = requests_.exchange(nullptr, acquire); // [TRACE-4]
        const bool report = hangs && !std::exchange(has_reported_, hangs) && !file_.empty();
        const std::int64_t now = steady_now();
        take(from, r != nullptr || report ? INT64_MAX : now - settled, now);
        while (r != nullptr) {
            request& done = *std::exchange(r, r->next);
            done.error = write(done.path);
            done.done.unpark(); // it may be gone now
        }
        if (!report) return;
        if (const int error = write(file_); error != 0) tell_unwritten("the last events", file_, error);
        else std::fprintf(stderr, "cmwq: the last events are in %s\n", file_.c_str());
    }

private:
    struct request { // on the stack of its thread
        const std::string& path;
        int error = 0;
        request* next = nullptr;
        transient_parker done = {};
    };

    void take(trace_collector& from, std::int64_t before, std::int64_t now) noexcept {
        try {
            from.read();
            from.take_before(before, [this](trace_entry& e) { history_.add(std::move(e)); });
            history_.forget_before(now - keep_, most_);
        } catch (const std::bad_alloc&) {
            from.skip();
        }
    }
    int write(const std::string& path) const noexcept {
        try {
            return replace_file(path, history_.trace());
        } catch (const std::bad_alloc&) {
            return ENOMEM;
        }
    }

    const std::string file_;             // I
    const std::int64_t keep_;            // I
    const std::size_t most_;             // I
    atomic<request*> requests_{nullptr}; // A
    trace_history history_;              // R
    bool has_reported_ = false;          // R
};

}}} // namespace cmwq::CMWQ_NS::detail
