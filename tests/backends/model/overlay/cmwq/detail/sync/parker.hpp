// SPDX-License-Identifier: BSL-1.0
//
// The parkers of the model backend.
#pragma once

#include <model/carrier.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A wrong use (destroyed while its owner sleeps, two owners) fails the run.
class transient_parker : protected model::carrier {
public:
    constexpr transient_parker() noexcept : carrier('p') {}
    constexpr ~transient_parker() {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && sleeper_ != 0) w->fail(name(*w) + " is destroyed while its owner sleeps");
        }
    }
    transient_parker(const transient_parker&) = delete;
    transient_parker& operator=(const transient_parker&) = delete;

    void park() noexcept { wait(model::never); }

    bool park_until(std::int64_t deadline) noexcept { return wait(deadline); }

    void unpark() noexcept {
        model::world* const w = give_permit();
        if (w == nullptr) return;
        if (sleeper_ != 0) w->wake(w->thread_at(sleeper_ - 1));
        w->mutated();
        w->settle(); // the owner may have destroyed this by now
    }

protected:
    /// The first step of unpark(). Null: outside of a run, where nobody sleeps.
    model::world* give_permit() noexcept {
        model::world* const w = model::world::current();
        if (w == nullptr) {
            permit_ = true;
            return nullptr;
        }
        if (!enter(*w)) sleeper_ = 0;
        if (w->tracing()) w->trace("%s.unpark", name(*w).c_str());
        give_clock(*w);
        permit_ = true;
        return w;
    }
    bool wait(std::int64_t deadline) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (!permit_) model::outside_of_a_run("parker::park() would block");
            permit_ = false;
            return true;
        }
        if (!enter(*w)) permit_ = false, sleeper_ = 0;
        bool late = false;
        if (!permit_ && deadline > w->now()) {
            if (sleeper_ != 0) w->fail(name(*w) + " is parked on by two threads");
            if (w->tracing()) w->trace("%s.park sleeps", name(*w).c_str());
            sleeper_ = w->self().id + 1;
            while (!permit_ && !late) late = w->block(model::thread_status::parked, this, deadline);
            sleeper_ = 0;
        }
        if (w->tracing()) w->trace("%s.park %s", name(*w).c_str(), permit_ ? "takes the permit" : "timed out");
        if (!permit_) return false;
        permit_ = false;
        take_clock(*w);
        return true;
    }

    bool permit_ = false;
    unsigned sleeper_ = 0; ///< thread id + 1
};

/// A thread may stop between the two steps of unpark(): the permit, and the wake-up of the owner.
class parker : public transient_parker {
public:
    using transient_parker::transient_parker;

    /// A search has no time to poll: the owner parks at once.
    [[nodiscard]] static constexpr bool has_permit() noexcept { return true; }

    void unpark() noexcept {
        model::world* const w = give_permit();
        if (w == nullptr) return;
        w->mutated();
        if (sleeper_ == 0) return;
        enter(*w); // the second step; the owner may have gone on meanwhile, because another thread has woken it
        if (sleeper_ != 0 && permit_) w->wake(w->thread_at(sleeper_ - 1));
        w->mutated();
        w->settle();
    }

    void remind() noexcept { unpark(); }
};

}}} // namespace cmwq::CMWQ_NS::detail
