// SPDX-License-Identifier: BSL-1.0
//
// by_text: a table whose keys are texts. Looking one up allocates nothing.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
};

template <class T>
using by_text = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;

}}} // namespace cmwq::CMWQ_NS::detail
