// SPDX-License-Identifier: BSL-1.0
//
// The mutex of the model backend.
#pragma once

#include <model/carrier.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A wrong use (destroyed while held, locked twice by a thread, unlocked by another thread) fails the run.
class CMWQ_TSA(capability("mutex")) mutex : private model::carrier {
public:
    constexpr mutex() noexcept : carrier('m') {}
    constexpr ~mutex() {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && holder_ != 0) w->fail(name(*w) + " is destroyed while held");
        }
    }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept CMWQ_ACQUIRE() {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (holder_ != 0) model::outside_of_a_run("mutex::lock() would block");
            holder_ = ~0u;
            return;
        }
        if (!enter(*w)) holder_ = 0;
        const unsigned me = w->self().id + 1;
        while (holder_ != 0) {
            if (holder_ == me) w->fail(name(*w) + " is locked by the thread that holds it");
            if (w->tracing()) w->trace("%s.lock waits", name(*w).c_str());
            w->block(model::thread_status::on_mutex, this, model::never);
        }
        holder_ = me;
        ++w->self().nr_locks;
        take_clock(*w);
        if (w->tracing()) w->trace("%s.lock", name(*w).c_str());
    }

    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (holder_ != 0) return false;
            holder_ = ~0u;
            return true;
        }
        if (!enter(*w)) holder_ = 0;
        if (w->tracing()) w->trace("%s.try_lock %s", name(*w).c_str(), holder_ != 0 ? "fails" : "succeeds");
        if (holder_ != 0) return false;
        holder_ = w->self().id + 1;
        ++w->self().nr_locks;
        take_clock(*w);
        return true;
    }

    void unlock() noexcept CMWQ_RELEASE() {
        model::world* w = model::world::current();
        if (w == nullptr) {
            holder_ = 0;
            return;
        }
        if (!enter(*w)) holder_ = 0;
        if (holder_ != w->self().id + 1) w->fail(name(*w) + " is unlocked by a thread that does not hold it");
        if (w->tracing()) w->trace("%s.unlock", name(*w).c_str());
        give_clock(*w);
        --w->self().nr_locks;
        holder_ = 0;
        w->wake_waiters(this);
        w->mutated();
        w->settle(); // `this` may be gone from here on
    }

private:
    unsigned holder_ = 0; ///< thread id + 1
};

}}} // namespace cmwq::CMWQ_NS::detail
