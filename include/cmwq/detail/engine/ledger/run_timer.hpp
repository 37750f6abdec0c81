// SPDX-License-Identifier: BSL-1.0
//
// run_timer: measures an item while it runs.
#pragma once

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// On the stack of the thread that runs the item.
class run_timer {
public:
    /// An item of `self.current_pwq` begins. `step`: that of the queue.
    run_timer(run_record& self, sampling_step step) noexcept
        : self_(self), outer_(std::exchange(self.timer, this)), step_(step), cpu_began_(thread_cpu_now()),
          began_(steady_now()) {}
    run_timer(const run_timer&) = delete;
    run_timer& operator=(const run_timer&) = delete;

    /// The item has ended. Returns its CPU time, in nanoseconds.
    std::int64_t end() noexcept {
        const std::int64_t took = steady_now() - began_;
        const std::int64_t cpu = std::max<std::int64_t>(thread_cpu_now() - cpu_began_ - excluded_cpu_, 0);
        self_.timer = outer_;
        const std::uint64_t n = nr_items_for(step_);
        self_.measured_cpu += static_cast<std::uint64_t>(cpu) * n;
        self_.note_counts();
        pool_workqueue& pwq = *self_.current_pwq;
        pwq.queue->times.runs.add(took, n);
        // Without the time in which it waited, and others ran: an item that waits for many small ones must not make all
        // of those be measured.
        pwq.sampling.note_run(took - excluded_);
        return cpu;
    }

private:
    friend class timer_pause;

    run_record& self_;
    run_timer* const outer_; // of the item that waits while this one runs in its place
    const sampling_step step_;
    const std::int64_t cpu_began_, began_;
    std::int64_t excluded_ = 0, excluded_cpu_ = 0;
};

/// While it lives, the item that the calling thread runs waits inside the library, and the thread may run other items:
/// their times are theirs.
class timer_pause {
public:
    /// `self`: has a timer.
    explicit timer_pause(run_record& self) noexcept
        : self_(self), timer_(*std::exchange(self.timer, nullptr)), cpu_began_(thread_cpu_now()), began_(steady_now()) {
    }
    ~timer_pause() {
        timer_.excluded_ += steady_now() - began_;
        timer_.excluded_cpu_ += thread_cpu_now() - cpu_began_;
        self_.timer = &timer_;
    }
    timer_pause(const timer_pause&) = delete;
    timer_pause& operator=(const timer_pause&) = delete;

private:
    run_record& self_;
    run_timer& timer_;
    const std::int64_t cpu_began_, began_;
};

template <class F>
[[gnu::noinline]] void call_with_timer(run_record& self, item_name item, sampling_step step, F f) {
    self.to_mark = next_distance(self.random);
    if (step == measure_first && !take_one(self.first_runs)) {
        self.current_pwq->sampling.measure_few_runs();
        return f(self);
    }
    observed_run told(self, item, step);
    run_timer timer(self, step);
    f(self);
    told.end(timer.end());
}
/// Calls `f(self)`, which runs `item`, of `self.current_pwq`; measures some of these calls. `item` and `f` are passed
/// by value, in registers, so that a call that is not measured stores neither.
template <class F>
[[gnu::always_inline]] inline void call_measured(run_record& self, item_name item, F f) {
    const sampling_step step = self.current_pwq->sampling.of_runs();
    CMWQ_PROBE(execute_start, item.item, item.function, self.current_pwq->queue->name.c_str());
    self.to_mark -= step;
    if (self.to_mark < 0) [[unlikely]]
        call_with_timer(self, item, step, f);
    else f(self);
    CMWQ_PROBE(execute_end, item.item, item.function);
}

}}} // namespace cmwq::CMWQ_NS::detail
