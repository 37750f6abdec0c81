// SPDX-License-Identifier: BSL-1.0
//
// The backoff of the model backend.
#pragma once

#include <model/core.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A local variable of one wait loop.
class backoff {
public:
    /// Waits until another thread has changed something, so that the caller's condition may have changed.
    void pause() noexcept {
        if (model::world* w = model::world::current()) w->pause();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
