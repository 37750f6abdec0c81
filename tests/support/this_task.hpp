// SPDX-License-Identifier: BSL-1.0
//
// The kernel's data about the calling thread.
#pragma once

#include <cmwq/cpuset.hpp>

#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq_test {

/// A field of /proc/self/task/<tid>/stat, counted from 1 as in proc(5); not the name. 0 if it cannot be read.
inline long stat_of_this_task(unsigned field) {
    std::ifstream file("/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 2)); // the name may contain anything
    std::string value;
    for (unsigned i = 3; i <= field; ++i) fields >> value;
    return value.empty() || field == 3 ? 0 : std::stol(value);
}

inline long nice_of_this_task() { return stat_of_this_task(19); }
inline long sched_class_of_this_task() { return stat_of_this_task(41); } ///< SCHED_OTHER, SCHED_BATCH ...

inline cmwq::cpuset cpus_of_this_task() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    cmwq::cpuset cpus;
    if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
    }
    return cpus;
}

} // namespace cmwq_test
