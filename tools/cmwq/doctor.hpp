// SPDX-License-Identifier: BSL-1.0
//
// cmwq doctor: what this machine, or a process, lacks, and how to get it.
#pragma once

#include "client.hpp"

#include <string>
#include <vector>

namespace cmwq_tool {

struct diagnosis {
    enum class level : bool { good, degraded };
    level verdict;
    std::string what, remedy = {};
};

/// Tries what a runtime needs, in this process.
[[nodiscard]] std::vector<diagnosis> examine_machine();

/// What a process says, at two times with `seconds` between them.
[[nodiscard]] std::vector<diagnosis> examine_process(client& to, double seconds);

} // namespace cmwq_tool
