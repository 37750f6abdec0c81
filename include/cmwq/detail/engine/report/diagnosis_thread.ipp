// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/report/diagnosis_thread.hpp>
#include <cmwq/detail/engine/report/wait_graph.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdio>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE void diagnosis_thread::look_at_waits_by(std::int64_t when) noexcept {
    const std::int64_t due = waits_due_.load(relaxed);
    if (due != 0 && due <= when) return;
    waits_due_.store(when, seq_cst); // [WATCH-2]
    tell();
}

CMWQ_INLINE void diagnosis_thread::watch_backlogs() noexcept {
    const std::int64_t interval = backlog_interval();
    if (interval == 0 || backlog_due_.load(seq_cst) != 0) return; // [WATCH-3]
    std::int64_t none = 0;
    if (backlog_due_.compare_exchange_strong(none, steady_now() + interval, seq_cst, relaxed)) tell(); // [WATCH-2]
}

// [WATCH-2] What is due was written before the look at exists_, which is written before the staff thread looks at what
// is due, and the new thread after it. So either this sees the thread, for which a permit is kept until it is there, or
// both see what is due. All are seq_cst.
CMWQ_INLINE void diagnosis_thread::tell() noexcept {
    if (exists_.load(seq_cst)) sleep_.unpark();
    else rt_.request_staff();
}

CMWQ_INLINE std::int64_t diagnosis_thread::backlog_interval() const noexcept {
    const std::int64_t limit = rt_.backlog_limit();
    return limit == 0 ? 0 : std::max(limit / 4, std::int64_t{1'000'000});
}

CMWQ_INLINE std::int64_t diagnosis_thread::start_if_due(std::int64_t now) noexcept {
    if (exists_.load(relaxed)) return 0;                                                   // written by this thread
    const std::int64_t due = sooner(waits_due_.load(seq_cst), backlog_due_.load(seq_cst)); // [WATCH-2]
    if (due == 0 || now < due) return due;
    exists_.store(true, seq_cst); // [WATCH-2]
    const int error = rt_.start_thread(thread_, &diagnosis_thread::thread_main, this);
    if (error == 0) return 0;
    exists_.store(false, seq_cst); // [UNIFORM]
    rt_.report_no_thread(0, error);
    constexpr std::int64_t pause = 100'000'000;
    return now + pause;
}

CMWQ_INLINE void diagnosis_thread::stop() noexcept {
    if (!exists_.load(relaxed)) return;
    stop_.store(true, release); // [STOP]
    sleep_.unpark();
    thread_.join();
}

CMWQ_INLINE void diagnosis_thread::thread_main(void* self) { static_cast<diagnosis_thread*>(self)->serve(); }

CMWQ_INLINE void diagnosis_thread::serve() noexcept {
    thread_attributes a{.own = rt_.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/watch");
    rt_.report_refusals(apply_to_this_thread(a), a);
    while (!stop_.load(acquire)) { // [STOP]
        const std::int64_t waits = wait_graph::look(rt_), backlogs = serve_backlogs();
        const std::int64_t next = sooner(waits, backlogs);
        if (next == 0) sleep_.park();
        else sleep_.park_until(next);
    }
}

CMWQ_INLINE std::int64_t diagnosis_thread::serve_backlogs() noexcept {
    const std::int64_t due = backlog_due_.load(seq_cst), now = steady_now(); // [WATCH-2]
    if (due == 0 || now < due) return due;
    backlog_due_.store(0, seq_cst); // [WATCH-3] first: what reaches its limit during the look is due anew
    const std::int64_t interval = backlog_interval();
    if (!rt_.watch_backlogs(interval)) return backlog_due_.load(relaxed);
    std::int64_t none = 0;
    backlog_due_.compare_exchange_strong(none, now + interval, relaxed, relaxed);
    return backlog_due_.load(relaxed);
}

} // namespace cmwq::inline CMWQ_NS::detail
