// SPDX-License-Identifier: BSL-1.0
//
// trace_recorder: the observer of a tracer. It puts what it is told into the ring of the thread.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/trace/trace_rings.hpp>
#include <cmwq/observer.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Wakes the reader when a ring is half full.
class trace_recorder final : public observer {
public:
    trace_recorder(std::size_t events_per_thread, parker& reader) noexcept
        : rings_(events_per_thread), reader_(reader) {}
    trace_recorder(const trace_recorder&) = delete;
    trace_recorder& operator=(const trace_recorder&) = delete;

    /// The reader. Calls `f(trace_ring&)` for each ring.
    template <class F>
    void for_each_ring(const F& f) {
        rings_.for_each(f);
    }
    /// The reader. Whether the runtime has reported that something hangs. Then a ring has that report.
    [[nodiscard]] bool hangs() const noexcept { return hang_.load(acquire); } // [TRACE-3]
    /// Any thread.
    [[nodiscard]] std::uint64_t nr_lost() const noexcept { return nr_lost_.load(relaxed); }

    void queued(const item_event& e) noexcept override { add(trace_kind::queued, e); }
    void cancelled(const item_event& e) noexcept override { add(trace_kind::cancelled, e); }
    void started(const item_event& e) noexcept override { add(trace_kind::started, e); }
    void ended(const item_event& e) noexcept override {
        trace_record r = of_queue(trace_kind::ended, e);
        r.item = e.item;
        r.cpu_time = e.cpu_time;
        push(r);
    }
    void blocked(const item_event& e, block_reason why) noexcept override { add(trace_kind::blocked, e, why); }
    void unblocked(const item_event& e) noexcept override { add(trace_kind::unblocked, e); }
    void worker_created(const worker_event& e) noexcept override { add(trace_kind::worker_created, e); }
    void worker_woken(const worker_event& e) noexcept override { add(trace_kind::worker_woken, e); }
    void worker_ended(const worker_event& e) noexcept override { add(trace_kind::worker_ended, e); }
    void mayday(const queue_event& e) noexcept override {
        trace_record r = of_queue(trace_kind::mayday, e);
        push(r);
    }
    void reported(const event& e) noexcept override {
        trace_record r;
        r.kind = trace_kind::reported;
        r.time = steady_now();
        r.set_name(e.message);
        try {
            r.message = new std::string(e.message);
            if (!push(r)) delete r.message;
        } catch (const std::bad_alloc&) {
            lose();
        }
        if (!stands_still(e.what)) return;
        hang_.store(true, release); // [TRACE-3]
        reader_.unpark();
    }

private:
    static bool stands_still(event::kind k) noexcept {
        return k == event::kind::stalled || k == event::kind::saturated || k == event::kind::deadlock;
    }
    static trace_record of_queue(trace_kind k, const queue_event& e) noexcept {
        trace_record r;
        r.kind = k;
        r.time = e.time;
        r.pool = e.pool;
        r.set_name(e.queue);
        return r;
    }
    void add(trace_kind k, const item_event& e, block_reason why = block_reason::announced) noexcept {
        trace_record r = of_queue(k, e);
        r.item = e.item;
        r.function = e.function;
        r.why = why;
        push(r);
    }
    void add(trace_kind k, const worker_event& e) noexcept {
        trace_record r;
        r.kind = k;
        r.time = e.time;
        r.pool = e.pool;
        r.worker = e.worker;
        push(r);
    }
    bool push(trace_record& r) noexcept {
        r.cpu = static_cast<std::uint16_t>(current_cpu());
        trace_ring* const ring = rings_.of_this_thread();
        const bool done = ring != nullptr && ring->push(r);
        if (!done) lose();
        if (ring != nullptr && ring->half_full()) reader_.unpark();
        return done;
    }
    void lose() noexcept { nr_lost_.fetch_add(1, relaxed); }

    trace_rings rings_;
    parker& reader_;
    atomic<std::uint64_t> nr_lost_{0};
    atomic<bool> hang_{false};
};

}}} // namespace cmwq::CMWQ_NS::detail
