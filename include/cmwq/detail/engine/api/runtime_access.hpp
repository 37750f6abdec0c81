// SPDX-License-Identifier: BSL-1.0
//
// runtime_access: how the engine, and tests that look inside, get from a runtime to its core.
#pragma once

#include <cmwq/detail/engine/runtime/runtime_core.hpp>

namespace cmwq::inline CMWQ_NS {
class runtime;
}

namespace cmwq::inline CMWQ_NS::detail {

struct runtime_access {
    [[nodiscard]] static runtime_core& core_of(const runtime& rt) noexcept;
};

} // namespace cmwq::inline CMWQ_NS::detail
