// SPDX-License-Identifier: BSL-1.0
//
// short_name: the name of a queue in a report.
#pragma once

#include <cmwq/detail/base/utf8.hpp>

#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A name, cut off if it is longer. Copying it allocates nothing.
struct short_name {
    short_name() noexcept = default;
    explicit short_name(std::string_view name) noexcept { copy(name); }
    void copy(std::string_view name) noexcept { text[cut_to(name, sizeof text - 1).copy(text, sizeof text - 1)] = 0; }

    char text[64] = {}; ///< NUL-terminated
};

}}} // namespace cmwq::CMWQ_NS::detail
