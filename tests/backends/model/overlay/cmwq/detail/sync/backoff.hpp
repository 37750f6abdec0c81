// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <model/core.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class backoff {
public:
    /// Waits until another thread has changed something, so that going round the loop may help.
    void pause() noexcept {
        if (model::world* w = model::world::current()) w->pause();
    }
};

} // namespace cmwq::inline CMWQ_NS::detail
