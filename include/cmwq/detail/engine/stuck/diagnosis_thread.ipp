// SPDX-License-Identifier: BSL-1.0
//
// The bodies of diagnosis_thread: its loop, and the check of queues at their limit.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/stuck/deadlock_check.hpp>
#include <cmwq/detail/engine/stuck/diagnosis_thread.hpp>
#include <cmwq/detail/engine/stuck/saturation.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE int diagnosis_thread::start() noexcept {
    return env_.threads.start(thread_, &diagnosis_thread::thread_main, this);
}

CMWQ_INLINE void diagnosis_thread::settle() noexcept {
    settles_.store(true, relaxed); // [PARK-1] the permit publishes it
    env_.requests.wake_diagnosis();
    settled_.park();
}

CMWQ_INLINE void diagnosis_thread::end() noexcept {
    stop_.store(true, release); // [STOP]
    env_.requests.wake_diagnosis();
    thread_.join();
}

CMWQ_INLINE bool diagnosis_thread::is_this_thread() const noexcept {
    return slots_.load(relaxed) == &this_thread_slots(); // equal only if this thread has written it
}

CMWQ_INLINE void diagnosis_thread::thread_main(void* self) { static_cast<diagnosis_thread*>(self)->serve(); }

CMWQ_INLINE void diagnosis_thread::serve() noexcept {
    thread_attributes a{.own = env_.threads.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/watch");
    a.cpus = env_.cpus.mask_of_process();
    env_.events.thread_refusals_of(apply_to_this_thread(a), a);
    this_thread_slots().helper_of = &env_;
    slots_.store(&this_thread_slots(), relaxed);
    began_(placement_);
    while (!stop_.load(acquire)) {                              // [STOP]
        const bool settles = settles_.exchange(false, relaxed); // [PARK-1]
        env_.events.deliver_posted();
        if (settles) settled_.unpark();
        process_barrier::prepare();
        const std::int64_t waits = deadlock_check::check_if_due(env_), backlogs = serve_backlogs();
        env_.requests.sleep_as_diagnosis(earlier_of(waits, backlogs));
    }
    env_.events.deliver_posted();
}

CMWQ_INLINE std::int64_t diagnosis_thread::serve_backlogs() noexcept {
    diagnosis_requests& requests = env_.diagnosis;
    const std::int64_t due = requests.backlogs_due(), now = steady_now();
    if (due == 0 || now < due) return due;
    requests.begin_backlog_check();
    const std::int64_t interval = requests.backlog_interval();
    if (interval != 0 && look_at_backlogs(interval)) requests.repeat_backlog_check(now + interval);
    return requests.backlogs_due();
}

// Checks the queues at their limit, and reports one that stands still. The state of the runs is read without a lock,
// because each takes one to three system calls. Queues may change or be destroyed meanwhile; but a queue whose runs are
// the same afterwards has not. Holds the lock of the list of queues for a bounded time: reports wait for it. Returns
// whether another check is needed.
CMWQ_INLINE bool diagnosis_thread::look_at_backlogs(std::int64_t passed) noexcept {
    constexpr std::int64_t patience = 1'000'000; // nanoseconds, for the locks of pools, in each of two turns
    struct standstill {
        const queue_core* queue;
        std::size_t first, last; // its runs
        bool blocked = true;
    };
    const std::int64_t limit = env_.diagnosis.backlog_limit();
    bool any = false;
    std::string saturated;
    try {
        std::vector<seen_run> runs;
        std::vector<standstill> suspects;
        std::int64_t deadline = steady_now() + patience;
        queues_.for_each([&](queue_core& q) {
            const std::size_t first = runs.size();
            const backlog_state state = q.sample_backlog(runs, deadline);
            any |= state != backlog_state::none;
            if (state == backlog_state::may_stand_still) suspects.push_back({&q, first, runs.size()});
            else if (state != backlog_state::unknown) q.note_progress();
        });
        for (standstill& s : suspects) {
            for (std::size_t i = s.first; i < s.last && s.blocked; ++i) s.blocked = runs[i].thread->probe.blocked();
        }
        std::ranges::sort(suspects, std::less<>(), &standstill::queue);
        deadline = steady_now() + patience;
        queues_.for_each([&](queue_core& q) {
            using state = pool_ledger::run_state;
            const auto s = std::ranges::lower_bound(suspects, &q, std::less<>(), &standstill::queue);
            if (s == suspects.end() || s->queue != &q) return;
            state now = s->blocked ? state::goes_on : state::has_ended;
            for (std::size_t i = s->first; i < s->last && now == state::goes_on; ++i) {
                now = runs[i].by->pool.ledger.state_of(runs[i], deadline);
            }
            if (now == state::unknown) return;
            if (now == state::has_ended) return q.note_progress();
            const std::int64_t time = q.note_standstill(passed);
            if (time < limit || !saturated.empty() || !q.first_report(event::kind::saturated)) return;
            saturated = describe_saturation(q, time, deadline);
        });
    } catch (const std::bad_alloc&) {
        any = true; // the next check tries again
    }
    if (!saturated.empty()) env_.events.deliver(event::kind::saturated, [&] { return std::move(saturated); });
    return any;
}

}}} // namespace cmwq::CMWQ_NS::detail
