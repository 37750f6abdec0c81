// SPDX-License-Identifier: BSL-1.0
//
// The threads of this process, as /proc shows them.
#pragma once

#include <cmwq/cpuset.hpp>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace cmwq_test {

/// The threads whose names begin with `prefix`. Each comes with the CPU mask that the kernel keeps for it, which may
/// contain CPUs that are not online.
inline std::vector<std::pair<std::string, cmwq::cpuset>> threads_named(const std::string& prefix) {
    std::vector<std::pair<std::string, cmwq::cpuset>> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name.rfind(prefix, 0) != 0) continue;
        std::ifstream status(task.path() / "status");
        constexpr const char* key = "Cpus_allowed_list:\t";
        for (std::string line; std::getline(status, line);) {
            if (line.rfind(key, 0) == 0) found.emplace_back(name, cmwq::cpuset::parse(line.substr(std::strlen(key))));
        }
    }
    return found;
}

} // namespace cmwq_test
