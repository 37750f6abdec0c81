// SPDX-License-Identifier: BSL-1.0
//
// event_reporter: sends the events of a runtime to `runtime_options::on_event`.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS {
class work_base;
}} // namespace cmwq::CMWQ_NS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class queue_core;

/// Any thread may call every member that does not say otherwise, while it holds no lock. If there is no memory, an
/// event has no message. Letters: I set by the constructor · A atomic · S the service thread
class event_reporter {
public:
    /// The options must outlive this object.
    explicit event_reporter(const runtime_options& o) noexcept : options_(o) {}
    event_reporter(const event_reporter&) = delete;
    event_reporter& operator=(const event_reporter&) = delete;

    [[nodiscard]] bool has_listener() const noexcept { return static_cast<bool>(options_.on_event); }
    /// Reports an event. `describe()` makes the message; it is called only if the event is delivered or printed.
    template <class Describe>
    void report(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;
    /// As `report()`, but only for the first event of this kind.
    template <class Describe>
    void report_once(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept;

    void thread_refusals_of(const thread_refusals& r, const thread_attributes& a) noexcept;
    void no_thread(unsigned cpu, int error) noexcept;
    void thread_limit(unsigned cpu) noexcept;
    void no_sentinel(unsigned cpu, int error) noexcept;
    void rescued(const queue_core& q) noexcept;
    void bottom_half_blocked(const queue_core& q, unsigned cpu) noexcept;
    void cpus_unavailable(const std::vector<std::string>& complaints) noexcept;
    /// The service thread calls this when an item has kept its CPU for too long. Counts it, and reports the function
    /// after `cpu_hog_warning_threshold` such items, then after twice as many, and so on.
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

}}} // namespace cmwq::CMWQ_NS::detail
