// SPDX-License-Identifier: BSL-1.0
//
// Decide under a lock, act after unlocking: waiters, and the list of actions to perform when no lock is held.
#pragma once

#include <cmwq/detail/engine/item/pool_owner.hpp>
#include <cmwq/detail/sync/parker.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread that sleeps until a number of events have happened. Lives on the stack of that thread. Any thread may call
/// happened(), and signal() if happened() has returned true.
class waiter {
public:
    /// One more event to wait for. Called by the owner, before the event can happen.
    void expect() noexcept { remaining_.fetch_add(1, relaxed); }

    /// One of the events has happened. True: it was the last, and the caller must call `signal()`.
    bool happened() noexcept {
        // [WAIT-1] acq_rel: the last call acquires what was written before all others.
        return remaining_.fetch_sub(1, acq_rel) == 1;
    }

    void signal() noexcept { parker_.unpark(); }

    /// Sleeps until all events have happened. Called by the owner, once. The count begins at one, so that no
    /// `happened()` is the last one before this call, which takes the one back.
    void wait() noexcept {
        if (!happened()) parker_.park();
    }

    waiter* next_done = nullptr; ///< link of `deferred`

private:
    atomic<int> remaining_{1};
    transient_parker parker_;
};

/// Collects actions under a lock, and performs them at the end of its scope, when no lock is held: declare it before
/// the lock. Used by one thread.
class deferred {
public:
    deferred() noexcept = default;
    deferred(const deferred&) = delete;
    deferred& operator=(const deferred&) = delete;
    ~deferred() { perform(); }

    /// Performs the collected actions now. The caller holds no lock.
    void perform() noexcept {
        if (parker* p = wake_; p != nullptr) {
            wake_ = nullptr;
            p->unpark();
        }
        if (notify_ != nullptr) notify_pool();
        while (done_ != nullptr) {
            waiter* w = done_;
            done_ = w->next_done; // the waiter is gone after the signal
            w->signal();
        }
    }

    /// One wake-up for each scope is enough: the woken worker wakes the next one if more items are pending.
    void wake(parker& p) noexcept { wake_ = &p; }
    /// Notifies another pool, which has got items or a grant.
    void notify(pool_owner& p) noexcept {
        if (notify_ != nullptr && notify_ != &p) notify_pool(); // rare; allowed under a lock, too
        notify_ = &p;
    }
    /// As `waiter::happened()`; performs the `signal()` that may be due.
    void happened(waiter& w) noexcept {
        if (!w.happened()) return;
        w.next_done = done_;
        done_ = &w;
    }

private:
    void notify_pool() noexcept { std::exchange(notify_, nullptr)->notify(); }

    parker* wake_ = nullptr;
    pool_owner* notify_ = nullptr;
    waiter* done_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
