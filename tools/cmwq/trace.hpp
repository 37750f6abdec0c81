// SPDX-License-Identifier: BSL-1.0
//
// cmwq trace: lets a process write a trace.
#pragma once

#include "client.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

namespace cmwq_tool {

/// Returns when the file is complete.
inline void trace(client& to, double seconds, const std::string& file) {
    const auto ms = static_cast<std::int64_t>(seconds * 1000);
    const std::string path = std::filesystem::absolute(file).string();
    to.ask({{"do", "trace"}, {"file", path}, {"time", std::to_string(ms) + "ms"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    while (to.ask({{"do", "trace"}}).at("tracing").get<bool>())
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::printf("%s: open it in https://ui.perfetto.dev\n", path.c_str());
}

} // namespace cmwq_tool
