// SPDX-License-Identifier: BSL-1.0
//
// queue_face: what the pools, the rescuer and the graph of waits know of a queue.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/library_copy.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/ledger/queue_times.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>
#include <cmwq/runtime_options.hpp>

#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class queue_core;
class rescuer_requests;

/// The base of queue_core. Any thread may call every member that does not say otherwise.
///
/// Letters: I set before publication · A atomic
class alignas(cache_line) queue_face : public made_by { // first: check_copy() reads it first
public:
    queue_face(queue_core& q, const pool_env& e, const queue_settings& s)
        : cpu_intensive(s.cpu_intensive), how(s.how), env(e), name(s.name), core(q), policy(s.policy) {}
    queue_face(const queue_face&) = delete;
    queue_face& operator=(const queue_face&) = delete;

    /// Called when an item has to wait because the limit of the queue is reached. From here on the diagnosis thread
    /// checks whether the active items make progress.
    void note_backlog() noexcept {
        if (backlog_.load(relaxed) || backlog_.exchange(true, seq_cst)) return; // [BACKLOG-1]
        env.diagnosis.request_backlog_check();
    }
    /// The diagnosis thread takes the note back before it checks: an item that has to wait after that sets it again.
    [[nodiscard]] bool take_backlog() noexcept { return backlog_.exchange(false, seq_cst); } // [BACKLOG-1]
    /// The diagnosis thread: something is left to check, and a check is requested already.
    void keep_backlog() noexcept { backlog_.store(true, relaxed); }

    /// Notes that a replaced pwq has drained, or that the limit may be divided, for queue_changes::reap().
    void request_reaping() noexcept {
        reap_wanted_.store(true, release); // [CLEAN-1]
        env.requests.request_cleaning();
    }
    [[nodiscard]] bool take_reaping() noexcept { return reap_wanted_.exchange(false, acq_rel); } // [CLEAN-1]
    /// The manager thread calls this if it could not reap.
    void defer_reaping() noexcept { reap_wanted_.store(true, relaxed); }

    /// Whether this is the first call for events of this kind, so that each queue reports a kind at most once.
    [[nodiscard]] bool first_report(event::kind what) noexcept {
        const unsigned bit = 1u << static_cast<unsigned>(what);
        return (reported_.fetch_or(bit, relaxed) & bit) == 0;
    }

    [[nodiscard]] bool keyed() const noexcept { return how.pool == pool_kind::attrs_keyed; }

    // Read for each item. They share a cache line with the begin of the name, where its text is, or the address of
    // that: the probes pass it on.
    exception_sink on_exception; // I
    const bool cpu_intensive;    // I
    const execution how;         // I
    const pool_env& env;         // I
    const std::string name;      // I

    queue_core& core;                        // I: the whole queue, for those that know it
    rescuer_requests* own_rescuer = nullptr; // I: null: the queue has none
    const std::string_view policy;           // I: the name of its policy
    queue_times times;                       // A

private:
    atomic<bool> backlog_{false};     // A: an item has waited for the limit since the last check
    atomic<bool> reap_wanted_{false}; // A
    atomic<unsigned> reported_{0};    // A: a bit for each kind of event
};

}}} // namespace cmwq::CMWQ_NS::detail
