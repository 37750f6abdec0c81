// SPDX-License-Identifier: BSL-1.0
//
// A thread that stays on one CPU.
#pragma once

#include "this_task.hpp"

#include <cmwq/cpuset.hpp>

#include <sched.h>

namespace cmwq_test {

inline bool bind_this_thread(const cmwq::cpuset& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus) CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

/// While an object lives, the calling thread stays on one CPU. Threads that it starts meanwhile stay there, too.
class pinned {
public:
    explicit pinned(unsigned cpu) : before_(cpus_of_this_task()) { bind_this_thread({cpu}); }
    ~pinned() { bind_this_thread(before_); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

private:
    const cmwq::cpuset before_;
};

} // namespace cmwq_test
