// SPDX-License-Identifier: BSL-1.0
//
// The memory and the number of threads of the process.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <malloc.h>
#include <unistd.h>

namespace bench {

struct memory {
    std::int64_t virtual_bytes = 0;
    std::int64_t resident_bytes = 0;

    [[nodiscard]] static memory now() {
        memory m;
        std::ifstream("/proc/self/statm") >> m.virtual_bytes >> m.resident_bytes; // in pages
        const std::int64_t page = ::sysconf(_SC_PAGESIZE);
        m.virtual_bytes *= page;
        m.resident_bytes *= page;
        return m;
    }
    /// Like now(), after the allocator has returned unused memory to the system.
    [[nodiscard]] static memory trimmed() {
        ::malloc_trim(0);
        return now();
    }
};

/// The number of all threads of this process, also of those that the library has not created.
[[nodiscard]] inline unsigned threads_of_process() {
    std::ifstream status("/proc/self/status");
    unsigned n = 0;
    for (std::string word; status >> word;) {
        if (word == "Threads:") status >> n;
    }
    return n;
}

} // namespace bench
