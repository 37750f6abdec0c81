// SPDX-License-Identifier: BSL-1.0
//
// event_reporter: passes the events of a runtime to the diagnosis thread, which delivers them. No other thread formats
// a message, prints, or calls `runtime_options::on_event`: others may wait for it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/env/event_record.hpp>
#include <cmwq/detail/engine/env/observers.hpp>
#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/runtime_options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace cmwq { inline namespace CMWQ_NS {
class work_base;
}} // namespace cmwq::CMWQ_NS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct event_tag;

/// Any thread may call every member that does not say otherwise, also under a lock of the library: it stores facts in
/// one of a fixed number of records, and wakes the diagnosis thread. If all records are in use, the event is lost, and
/// counted. The diagnosis thread gets the events in the order in which they were posted. A thread that is stopped in
/// the middle of a call keeps one record, and holds up nothing.
///
/// Letters: I set by the constructor · A atomic · S the service thread · D the diagnosis thread
class event_reporter {
public:
    /// The arguments must outlive this object.
    event_reporter(const runtime_options& o, service_requests& r, observers& w) noexcept
        : options_(o), requests_(r), observers_(w) {}
    event_reporter(const event_reporter&) = delete;
    event_reporter& operator=(const event_reporter&) = delete;

    /// Whether anybody is told of events of that kind.
    [[nodiscard]] bool has_audience(event::kind what) const noexcept;
    /// Leaves an event for the diagnosis thread, on which describe_event() calls `describe`. False: it is lost.
    template <class Describe>
    bool post(event::kind what, int error, unsigned cpu, Describe&& describe) noexcept {
        static_assert(std::is_rvalue_reference_v<Describe&&>);
        if (!has_audience(what)) return true;
        for (place& p : places_) {
            if (p.in_use.load(relaxed) || p.in_use.exchange(true, acquire)) continue; // [PLACE-2]
            p.set(what, error, cpu, static_cast<Describe&&>(describe));
            static_cast<void>(posted_.push(p));
            requests_.wake_diagnosis(); // in any case: whoever found the inbox empty may be stopped before it does so
            return true;
        }
        nr_lost_.fetch_add(1, relaxed);
        return false;
    }
    /// As `post()`, but only for the first event of this kind.
    template <class Describe>
    void post_once(event::kind what, int error, unsigned cpu, Describe&& describe) noexcept {
        const unsigned bit = 1u << static_cast<unsigned>(what);
        if ((reported_.load(relaxed) & bit) != 0 || (reported_.fetch_or(bit, relaxed) & bit) != 0) return;
        if (!post(what, error, cpu, static_cast<Describe&&>(describe))) reported_.fetch_and(~bit, relaxed);
    }

    void thread_refusals_of(const thread_refusals& r, const thread_attributes& a) noexcept;
    void no_thread(unsigned cpu, int error) noexcept;
    void thread_limit(unsigned cpu) noexcept;
    void no_sentinel(unsigned cpu, int error) noexcept;
    void rescued(std::string_view queue) noexcept;
    void bottom_half_blocked(std::string_view queue, unsigned cpu) noexcept;
    /// The service thread calls this when an item has kept its CPU for too long. Counts it, and reports the function
    /// after `first` such items, then after twice as many, and so on. `is_keyed`: its queue is keyed by attributes.
    void cpu_hog(void (*function)(work_base&), std::string_view queue, unsigned cpu, bool is_keyed,
                 unsigned first) noexcept;
    [[nodiscard]] std::uint64_t nr_cpu_hogs() const noexcept { return nr_hogs_.load(relaxed); }
    [[nodiscard]] std::uint64_t nr_lost() const noexcept { return nr_lost_.load(relaxed); }

    // --- the diagnosis thread ----------------------------------------------------------------------------------------

    /// Delivers the events that have been posted.
    void deliver_posted() noexcept;
    /// Delivers an event that the diagnosis thread itself has found.
    template <class Describe>
    void deliver(event::kind what, Describe&& describe) noexcept {
        if (!has_audience(what)) return;
        event e{what, 0, 0, {}};
        describe_event(e, describe);
        deliver(e);
    }
    /// For tests, on any thread: whether every event that was posted has been delivered.
    [[nodiscard]] bool all_delivered() const noexcept;

private:
    static constexpr std::size_t nr_places = 32;
    struct place : event_record, list_node<event_tag> {
        atomic<bool> in_use{false};
    };
    struct hog {
        void (*function)(work_base&) = nullptr;
        std::uint64_t hits = 0;
    };

    void deliver(const event& e) noexcept;

    const runtime_options& options_;   // I
    service_requests& requests_;       // I
    observers& observers_;             // I
    atomic<unsigned> reported_{0};     // A: a bit for each kind of event
    atomic<std::uint64_t> nr_hogs_{0}; // A
    atomic<std::uint64_t> nr_lost_{0}; // A
    std::uint64_t nr_told_lost_ = 0;   // D: how many lost events have been printed
    std::array<place, nr_places> places_{};
    inbox<place, event_tag> posted_; // A
    std::array<hog, 64> hogs_{};     // S: if there are more functions, the one with the fewest hits is forgotten
};

}}} // namespace cmwq::CMWQ_NS::detail
