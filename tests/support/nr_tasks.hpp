// SPDX-License-Identifier: BSL-1.0
//
// The number of threads of this process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace cmwq_test {

/// Whether the kernel has begun to end that thread: it may already be joined, and still be listed for a while.
inline bool is_ending(const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    std::string line;
    if (!std::getline(file, line)) return true;                  // it has just gone
    std::istringstream fields(line.substr(line.rfind(')') + 1)); // the name before it may contain anything
    std::string skipped;
    for (int i = 0; i != 6; ++i) fields >> skipped;
    unsigned long flags = 0;
    fields >> flags;
    constexpr unsigned long exiting = 0x4; // PF_EXITING of the kernel
    return (flags & exiting) != 0;
}

/// Threads that are ending do not count. The first call starts and ends a thread before it counts: with the first
/// thread, ThreadSanitizer starts one of its own.
inline std::ptrdiff_t nr_tasks() {
    static const bool started = (std::thread([] {}).join(), true);
    static_cast<void>(started);
    std::ptrdiff_t n = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) n += is_ending(task.path()) ? 0 : 1;
    return n;
}

} // namespace cmwq_test
