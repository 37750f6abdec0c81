// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/affinity_scope.hpp>

#include <map>
#include <string>

namespace bench {

/// All affinity scopes by their names, also "default".
[[nodiscard]] inline std::map<std::string, cmwq::affinity_scope> scopes_by_name() {
    std::map<std::string, cmwq::affinity_scope> scopes{{"default", cmwq::affinity_scope::default_}};
    for (const cmwq::affinity_scope scope : cmwq::affinity_scopes) scopes[std::string(to_string(scope))] = scope;
    return scopes;
}

} // namespace bench
