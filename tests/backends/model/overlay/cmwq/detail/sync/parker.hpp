// SPDX-License-Identifier: BSL-1.0
//
// The parker of the model backend.
#pragma once

#include <model/carrier.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A wrong use (destroyed while its owner sleeps, two owners) fails the run.
class parker : private model::carrier {
public:
    constexpr parker() noexcept : carrier('p') {}
    constexpr ~parker() {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && sleeper_ != 0) w->fail(name(*w) + " is destroyed while its owner sleeps");
        }
    }
    parker(const parker&) = delete;
    parker& operator=(const parker&) = delete;

    void park() noexcept { wait(model::never); }

    bool park_until(std::int64_t deadline) noexcept { return wait(deadline); }

    /// A search has no time to poll: the owner parks at once.
    [[nodiscard]] static constexpr bool has_permit() noexcept { return true; }

    void unpark() noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) {
            permit_ = true;
            return;
        }
        if (!enter(*w)) permit_ = false, sleeper_ = 0;
        if (w->tracing()) w->trace("%s.unpark", name(*w).c_str());
        give_clock(*w);
        permit_ = true;
        if (sleeper_ != 0) w->wake(w->thread_at(sleeper_ - 1));
        w->mutated();
        w->settle(); // the owner may have destroyed this by now
    }

    void remind() noexcept { unpark(); }

private:
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

}}} // namespace cmwq::CMWQ_NS::detail
