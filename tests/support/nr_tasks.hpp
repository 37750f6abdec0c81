// SPDX-License-Identifier: BSL-1.0
//
// The number of threads of this process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace cmwq_test {

/// The first call starts and ends a thread before it counts: with the first thread, ThreadSanitizer starts one of its
/// own.
inline std::ptrdiff_t nr_tasks() {
    static const bool started = (std::thread([] {}).join(), true);
    static_cast<void>(started);
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

} // namespace cmwq_test
