// SPDX-License-Identifier: BSL-1.0
//
// The usable CPUs, and a guard that binds a thread to some of them.
#pragma once

#include <array>
#include <ranges>
#include <vector>

#include <sched.h>

namespace bench {

/// The CPUs that this thread may use, ascending.
[[nodiscard]] inline std::vector<unsigned> usable_cpus() {
    std::vector<unsigned> cpus;
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned c = 0; c < CPU_SETSIZE; ++c) {
            if (CPU_ISSET(c, &set)) cpus.push_back(c);
        }
    }
    return cpus;
}

/// Binds the calling thread to one CPU, or to several, for the lifetime of this object. New threads inherit the
/// binding: construct this object after the threads that must not have it.
class pinned {
public:
    [[nodiscard]] explicit pinned(unsigned cpu) : pinned(std::array{cpu}) {}
    template <std::ranges::range CPUs>
    [[nodiscard]] explicit pinned(const CPUs& cpus) {
        ::sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const unsigned c : cpus) CPU_SET(c, &set);
        ::sched_setaffinity(0, sizeof set, &set);
    }
    ~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

private:
    cpu_set_t before_;
};

} // namespace bench
