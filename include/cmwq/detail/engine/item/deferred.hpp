// SPDX-License-Identifier: BSL-1.0
//
// Decide under the lock, act after it: waiters, and the list of what to do once no lock is held.
#pragma once

#include <cmwq/detail/sync/parker.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class item_pool;

/// Somebody who sleeps until a number of things have happened. Lives on that thread's stack.
class waiter {
public:
    /// One more thing to wait for; before it can happen.
    void expect() noexcept { remaining_.fetch_add(1, relaxed); }

    /// One of them happened. True: it was the last, and the caller owes a `signal()`.
    bool happened() noexcept {
        // [WAIT-1] acq_rel: the last one carries what happened before all of them.
        return remaining_.fetch_sub(1, acq_rel) == 1;
    }

    void signal() noexcept { parker_.unpark(); }

    /// Owner only, once. Takes back the bias that kept `happened()` from being last too early.
    void wait() noexcept {
        if (!happened()) parker_.park();
    }

    waiter* next_done = nullptr; ///< link of `deferred`

private:
    atomic<int> remaining_{1};
    parker parker_;
};

/// Collects what has to be done without a lock, and does it at the end of its scope. Declare it before the lock.
class deferred {
public:
    deferred() noexcept = default;
    deferred(const deferred&) = delete;
    deferred& operator=(const deferred&) = delete;
    ~deferred() { perform(); }

    /// Also earlier than at the end of the scope, wherever no lock is held.
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

    /// One wake-up a scope is enough: the woken worker wakes the next if there is more to do.
    void wake(parker& p) noexcept { wake_ = &p; }
    /// Another pool got something to do.
    void notify(item_pool& p) noexcept {
        if (notify_ != nullptr && notify_ != &p) notify_pool(); // rare, and allowed at any time
        notify_ = &p;
    }
    void happened(waiter& w) noexcept {
        if (!w.happened()) return;
        w.next_done = done_;
        done_ = &w;
    }

private:
    void notify_pool() noexcept; // in item_pool.ipp

    parker* wake_ = nullptr;
    item_pool* notify_ = nullptr;
    waiter* done_ = nullptr;
};

} // namespace cmwq::inline CMWQ_NS::detail
