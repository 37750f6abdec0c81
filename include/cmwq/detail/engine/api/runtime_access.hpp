// SPDX-License-Identifier: BSL-1.0
//
// runtime_access: gives the engine, and tests of its internals, access to the core of a runtime.
#pragma once

#include <cmwq/detail/engine/runtime/runtime_core.hpp>

namespace cmwq { inline namespace CMWQ_NS {
class runtime;
}} // namespace cmwq::CMWQ_NS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A friend of cmwq::runtime.
struct runtime_access {
    [[nodiscard]] static runtime_core& core_of(const runtime& rt) noexcept;
};

}}} // namespace cmwq::CMWQ_NS::detail
