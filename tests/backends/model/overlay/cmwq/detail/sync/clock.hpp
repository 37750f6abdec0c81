// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <model/core.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// Virtual time. In a search it moves when nothing else can; in a simulation by burning and sleeping.
inline std::int64_t steady_now() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->now() : model::start_of_time;
}

} // namespace cmwq::inline CMWQ_NS::detail
