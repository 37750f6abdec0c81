// SPDX-License-Identifier: BSL-1.0
//
// The usable CPUs, and a guard that binds a thread to one of them.
#pragma once

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

/// Binds the calling thread to one CPU for the lifetime of this object. New threads inherit the binding: construct this
/// object after the threads that must not have it.
class pinned {
public:
    [[nodiscard]] explicit pinned(unsigned cpu) {
        ::sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ::sched_setaffinity(0, sizeof one, &one);
    }
    ~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

private:
    cpu_set_t before_;
};

} // namespace bench
