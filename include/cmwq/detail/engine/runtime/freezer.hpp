// SPDX-License-Identifier: BSL-1.0
//
// freezer: freezes the freezable queues of a runtime. Their active items finish; no other item becomes active before
// the thaw.
#pragma once

#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member that does not say otherwise. The configuration lock guards the count of freezes, so
/// a queue that is attached meanwhile is frozen, or thawed, with the others.
class freezer {
public:
    freezer(placement& p, const queue_list& queues, service_requests& requests) noexcept
        : placement_(p), queues_(queues), requests_(requests) {}
    freezer(const freezer&) = delete;
    freezer& operator=(const freezer&) = delete;

    /// Freezes nest: each needs its own `thaw()`.
    void freeze() noexcept CMWQ_EXCLUDES(waiters_lock_);
    /// Throws std::logic_error without a matching `freeze()`, and changes nothing then.
    void thaw() CMWQ_EXCLUDES(waiters_lock_);
    [[nodiscard]] bool is_frozen() const noexcept { return state_now() == state::frozen; }
    /// Waits until all freezable queues are frozen. Returns false if the deadline (steady clock, 0: none) passes first,
    /// or if the queues are thawed meanwhile. The calling thread must not run an item of a freezable queue.
    [[nodiscard]] bool wait(std::int64_t deadline) noexcept CMWQ_EXCLUDES(waiters_lock_);
    /// Freezes a queue that is being attached, if a freeze is in force. The configuration lock is held.
    void join_locked(queue_core& q) noexcept {
        if (nr_freezes_ != 0 && q.freezable) q.pwqs.set_frozen(true);
    }

    /// The service thread calls this when a freeze may be complete, or over.
    void wake_waiters() noexcept CMWQ_EXCLUDES(waiters_lock_);

private:
    enum class state : unsigned char { none, freezing, frozen };
    [[nodiscard]] state state_now() const noexcept; // takes the configuration lock
    template <class F>
    void for_each_freezable(F&& f) const;

    struct waiter_node {
        transient_parker sleep;
        waiter_node* next = nullptr;
    };

    placement& placement_;                                          // I
    const queue_list& queues_;                                      // I
    service_requests& requests_;                                    // I
    unsigned nr_freezes_ = 0;                                       // CF: under the configuration lock
    ranked_mutex<lock_rank::thaw> waiters_lock_;                    // innermost
    waiter_node* waiters_ CMWQ_GUARDED_BY(waiters_lock_) = nullptr; // on the stacks of the threads that wait
};

}}} // namespace cmwq::CMWQ_NS::detail
