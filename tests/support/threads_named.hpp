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

/// Calls `f(id, folder, name)` for each thread: its folder in /proc, and its name.
template <class F>
void for_each_thread(F f) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        f(std::stol(task.path().filename().string()), task.path(), name);
    }
}

/// The threads whose names begin with `prefix`. Each comes with the CPU mask that the kernel keeps for it, which may
/// contain CPUs that are not online.
inline std::vector<std::pair<std::string, cmwq::cpuset>> threads_named(const std::string& prefix) {
    std::vector<std::pair<std::string, cmwq::cpuset>> found;
    for_each_thread([&](long /*id*/, const std::filesystem::path& folder, const std::string& name) {
        if (name.rfind(prefix, 0) != 0) return;
        std::ifstream status(folder / "status");
        constexpr const char* key = "Cpus_allowed_list:\t";
        for (std::string line; std::getline(status, line);) {
            if (line.rfind(key, 0) == 0) found.emplace_back(name, cmwq::cpuset::parse(line.substr(std::strlen(key))));
        }
    });
    return found;
}

} // namespace cmwq_test
