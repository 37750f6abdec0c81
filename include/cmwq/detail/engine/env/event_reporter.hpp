// SPDX-License-Identifier: BSL-1.0
//
// event_reporter: what a runtime reports through `runtime_options::on_event`.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cmwq::inline CMWQ_NS {
class work_base;
}

namespace cmwq::inline CMWQ_NS::detail {

class queue_core;

/// Any thread may call every member that does not say otherwise; no lock is held. Without memory an event comes without
/// its message. Letters: I set by the constructor · A atomic · S the service thread
class event_reporter {
public:
    /// The options outlive this.
    explicit event_reporter(const runtime_options& o) noexcept : options_(o) {}
    event_reporter(const event_reporter&) = delete;
    event_reporter& operator=(const event_reporter&) = delete;

    [[nodiscard]] bool has_listener() const noexcept { return static_cast<bool>(options_.on_event); }
    /// `describe()` makes the message; it is called only if somebody gets to see it.
    template <class Describe>
    void report(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;
    /// The same, the first time that this kind of event is reported.
    template <class Describe>
    void report_once(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;

    void thread_refusals_of(const thread_refusals& r, const thread_attributes& a) noexcept;
    void no_thread(unsigned cpu, int error) noexcept;
    void thread_limit(unsigned cpu) noexcept;
    void no_sentinel(unsigned cpu, int error) noexcept;
    void rescued(const queue_core& q) noexcept;
    void bottom_half_blocked(const queue_core& q, unsigned cpu) noexcept;
    void cpus_unavailable(const std::vector<std::string>& complaints) noexcept;
    /// The service thread: an item has been found to keep its CPU for too long. Counted; reported now and then.
    void cpu_hog(void (*function)(work_base&), const char* queue, unsigned cpu) noexcept;
    [[nodiscard]] std::uint64_t nr_cpu_hogs() const noexcept { return nr_hogs_.load(relaxed); }

private:
    struct hog {
        void (*function)(work_base&);
        std::uint64_t hits;
    };

    const runtime_options& options_;   // I
    atomic<unsigned> reported_{0};     // A: a bit for each kind of event
    atomic<std::uint64_t> nr_hogs_{0}; // A
    std::vector<hog> hogs_;            // S
};

} // namespace cmwq::inline CMWQ_NS::detail
