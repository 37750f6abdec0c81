// SPDX-License-Identifier: BSL-1.0
//
// The version of the library as text.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/version.hpp>

#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline std::string version_text() {
    return std::to_string(CMWQ_VERSION_MAJOR) + '.' + std::to_string(CMWQ_VERSION_MINOR) + '.' +
           std::to_string(CMWQ_VERSION_PATCH);
}

}}} // namespace cmwq::CMWQ_NS::detail
