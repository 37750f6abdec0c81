// SPDX-License-Identifier: BSL-1.0
#include "thread_limits.hpp"

#include <cstdint>
#include <fstream>

#include <sys/resource.h>

namespace scale {

namespace {

/// The number in the file; 0 if there is no such file, or if it contains "max".
std::uint64_t number_in(const std::string& file) {
    std::uint64_t n = 0;
    std::ifstream(file) >> n;
    return n;
}

/// The folder of this process's control group in the hierarchy that limits threads.
std::string pids_group() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::string path = line.substr(line.rfind(':') + 1);
        if (line.starts_with("0::") && path != "/") return "/sys/fs/cgroup" + path;
        if (line.find(":pids:") != std::string::npos) return "/sys/fs/cgroup/pids" + path;
    }
    return "/sys/fs/cgroup";
}

} // namespace

std::string reason_against(unsigned threads) {
    const std::uint64_t wanted = threads + 200; // 200: for other threads on this machine
    const auto too_low = [&](const std::string& what, std::uint64_t limit) {
        return limit != 0 && limit < wanted ? what + " is " + std::to_string(limit) : std::string();
    };
    rlimit user{};
    ::getrlimit(RLIMIT_NPROC, &user);
    const std::string group = pids_group() + "/pids.max";
    for (const std::string& reason :
         {too_low("ulimit -u", user.rlim_cur == RLIM_INFINITY ? 0 : user.rlim_cur),
          too_low("/proc/sys/kernel/pid_max", number_in("/proc/sys/kernel/pid_max")),
          too_low("/proc/sys/kernel/threads-max", number_in("/proc/sys/kernel/threads-max")),
          too_low(group, number_in(group)),
          // Two mappings for each thread: the stack and its guard page.
          too_low("/proc/sys/vm/max_map_count / 2", number_in("/proc/sys/vm/max_map_count") / 2)}) {
        if (!reason.empty()) return reason;
    }
    return {};
}

} // namespace scale
