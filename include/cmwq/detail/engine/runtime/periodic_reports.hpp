// SPDX-License-Identifier: BSL-1.0
//
// periodic_reports: writes the metrics of a runtime to a file, and a line about it to the standard error, each at its
// interval.
#pragma once

#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class runtime_core;

/// How the texts are made; both functions throw std::bad_alloc.
struct report_texts {
    std::string (*metrics)(const runtime_core&);
    std::string (*line)(const runtime_core&, long long ms); ///< `ms`: since the runtime was made
};

/// One object for each runtime. Its thread exists only if the options want a report.
///
/// Letters: I set by the constructor · A atomic · R the thread itself
class periodic_reports {
public:
    periodic_reports(const pool_env& env, placement& p, const runtime_core& rt, report_texts texts) noexcept
        : env_(env), placement_(p), runtime_(rt), texts_(texts) {}
    periodic_reports(const periodic_reports&) = delete;
    periodic_reports& operator=(const periodic_reports&) = delete;

    /// Returns 0, or an errno.
    int start() noexcept;
    /// Ends and joins the thread, if there is one.
    void end() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self) { static_cast<periodic_reports*>(self)->serve(); }
    void serve() noexcept;
    void write_metrics() noexcept;
    void print_line(std::int64_t passed) const noexcept;

    const pool_env& env_;         // I
    placement& placement_;        // I
    const runtime_core& runtime_; // I
    const report_texts texts_;    // I
    thread thread_;               // I
    atomic<bool> stop_{false};    // A
    parker sleep_;                // A
    int error_ = 0;               // R: of the last attempt to write the file; 0: it was written
};

}}} // namespace cmwq::CMWQ_NS::detail
