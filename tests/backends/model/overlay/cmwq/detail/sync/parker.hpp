// SPDX-License-Identifier: BSL-1.0
//
// The parker of the model backend.
#pragma once

#include <cmwq/detail/sync/transient_parker.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread may stop between the two steps of unpark(): the permit, and the wake-up of the owner.
class parker : public transient_parker {
public:
    using transient_parker::transient_parker;

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
