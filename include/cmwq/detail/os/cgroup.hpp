// SPDX-License-Identifier: BSL-1.0
//
// The limit of CPU time that the control groups of this process set.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/os/file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

inline constexpr double unlimited_cpus = std::numeric_limits<double>::infinity();

/// The limit of one group: `quota` microseconds in `period` microseconds; each text begins with the number. "max", -1,
/// and a text without a number mean no limit.
[[nodiscard]] inline double quota_of(const char* quota, const char* period) noexcept {
    const double q = static_cast<double>(std::strtoll(quota, nullptr, 10));
    const double p = static_cast<double>(std::strtoll(period, nullptr, 10));
    return q > 0 && p > 0 ? q / p : unlimited_cpus;
}

/// The limit in cpu.max, or in cpu.cfs_quota_us and cpu.cfs_period_us, of a group's folder. Missing files, as in a root
/// group, mean no limit.
[[nodiscard]] inline double quota_of_folder(const std::string& folder) {
    std::string quota, period;
    if (read_file((folder + "/cpu.max").c_str(), quota) == 0) {
        const std::size_t blank = quota.find(' ');
        return blank == std::string::npos ? unlimited_cpus : quota_of(quota.c_str(), quota.c_str() + blank);
    }
    if (read_file((folder + "/cpu.cfs_quota_us").c_str(), quota) != 0 ||
        read_file((folder + "/cpu.cfs_period_us").c_str(), period) != 0) {
        return unlimited_cpus;
    }
    return quota_of(quota.c_str(), period.c_str());
}

/// The smallest limit of the group `path` below `mount` and of all groups above it, up to the mount itself. In a
/// container the path may not exist below the mount; the parts that exist count.
[[nodiscard]] inline double quota_of_path(const std::string& mount, std::string path) {
    if (path.find("/..") != std::string::npos) path.clear(); // a group outside of the mount
    double least = unlimited_cpus;
    for (;;) {
        least = std::min(least, quota_of_folder(mount + path));
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) return least;
        path.resize(slash);
    }
}

/// The CPU time that the process may use, as a number of CPUs: 1.5 means 150 ms in 100 ms. `unlimited_cpus` if there is
/// no limit, or no memory. Handles cgroup v2, v1, and both at once. Any thread may call it; reads a few files.
///
/// `membership` is the file that lists the groups of the process; `root` is the folder where their hierarchies are
/// mounted.
[[nodiscard]] inline double cpu_quota(const char* membership = "/proc/self/cgroup",
                                      const char* root = "/sys/fs/cgroup") noexcept {
    try {
        std::string text;
        if (read_file(membership, text) != 0) return unlimited_cpus;
        double least = unlimited_cpus;
        for (std::string_view rest = text; !rest.empty();) { // number:controllers:path
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            const std::size_t first = line.find(':'), second = line.find(':', first + 1);
            if (first == std::string_view::npos || second == std::string_view::npos) continue;
            const std::string controllers(line.substr(first + 1, second - first - 1));
            const std::string path(line.substr(second + 1));
            const std::string below = std::string(root) + '/';
            if (controllers.empty()) { // v2, alone or beside v1
                least = std::min(least, quota_of_path(root, path));
                least = std::min(least, quota_of_path(below + "unified", path));
            } else if ((',' + controllers + ',').find(",cpu,") != std::string::npos) {
                least = std::min(least, quota_of_path(below + controllers, path));
                least = std::min(least, quota_of_path(below + "cpu", path));
            }
        }
        return least;
    } catch (const std::bad_alloc&) {
        return unlimited_cpus;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail::os
