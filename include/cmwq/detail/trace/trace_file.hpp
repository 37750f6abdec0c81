// SPDX-License-Identifier: BSL-1.0
//
// trace_file: the thread of a tracer, which writes the file.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/detail/trace/trace_reader.hpp>
#include <cmwq/detail/trace/trace_recorder.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Letters: I set before the thread starts · A atomic · R the thread itself, and its owner after it has ended
class trace_file {
public:
    explicit trace_file(std::size_t events_per_thread) noexcept : recorder_(events_per_thread, sleep_) {}
    trace_file(const trace_file&) = delete;
    trace_file& operator=(const trace_file&) = delete;

    [[nodiscard]] trace_recorder& recorder() noexcept { return recorder_; }
    [[nodiscard]] const trace_recorder& recorder() const noexcept { return recorder_; }

    /// Opens the file, and starts the thread. Returns 0, or an errno. Throws std::bad_alloc.
    int start(const std::string& path) {
        path_ = path;
        if (const int error = file_.open(path); error != 0) return error;
        reader_.begin(main_thread_id(), ::program_invocation_short_name, steady_now(), realtime_now());
        return thread_.start(&trace_file::thread_main, this);
    }
    /// Ends the thread, and writes what is left. Nobody calls the recorder any more.
    void end() noexcept {
        stop_.store(true, release); // [STOP]
        sleep_.unpark();
        thread_.join();
        write_before(INT64_MAX);
        if (const int error = file_.close(); error != 0) fail(error);
    }
    /// In the child of fork(), where neither the thread nor the file is the tracer's.
    void forget() noexcept { thread_.forget(); }

private:
    // Threads put down an event soon after its time, but may lose their CPUs in between.
    static constexpr std::int64_t settled = 200'000'000, period = 100'000'000; // nanoseconds

    static void thread_main(void* self) { static_cast<trace_file*>(self)->serve(); }
    void serve() noexcept {
        take_attributes();
        while (!stop_.load(acquire)) { // [STOP]
            const std::int64_t now = steady_now();
            write_before(now - settled);
            sleep_.park_until(now + period);
        }
    }
    // Those of the process, whichever thread has made the tracer. What the system refuses does not matter.
    static void take_attributes() noexcept {
        thread_attributes a{.name = "cmwq/trace", .own = priority_of_process()};
        try {
            cpuset cpus;
            for_each_allowed_cpu([&cpus](unsigned c) { cpus.insert(c); }, main_thread_id());
            if (!cpus.empty()) a.cpus = &cpus;
            apply_to_this_thread(a);
        } catch (const std::bad_alloc&) {
            apply_to_this_thread(a);
        }
    }
    void write_before(std::int64_t time) noexcept {
        if (error_ != 0) return reader_.skip();
        try {
            if (const int error = file_.write(reader_.read_before(time)); error != 0) fail(error);
        } catch (const std::bad_alloc&) {
            fail(ENOMEM);
        }
    }
    void fail(int error) noexcept {
        if (std::exchange(error_, error) != 0) return;
        char reason[64];
        std::fprintf(stderr, "cmwq: the trace %s ends here, because it cannot be written: %s\n", path_.c_str(),
                     ::strerror_r(error, reason, sizeof reason));
    }

    parker sleep_; // A
    trace_recorder recorder_;
    trace_reader reader_{recorder_}; // I, then R
    std::string path_;               // I
    output_file file_;               // I, then R
    int error_ = 0;                  // R: with which writing has ended; 0: none
    atomic<bool> stop_{false};       // A
    thread thread_;                  // I
};

}}} // namespace cmwq::CMWQ_NS::detail
