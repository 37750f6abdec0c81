// SPDX-License-Identifier: BSL-1.0
//
// What the kernel says about its CPUs as a whole.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/os/file.hpp>

#include <stdexcept>
#include <string>

namespace cmwq::inline CMWQ_NS::detail::os {

/// The set in a file such as "0-3,8". Empty if it cannot be read or holds something else.
[[nodiscard]] inline cpuset read_cpu_list(const std::string& path) {
    std::string text;
    if (read_file(path.c_str(), text) != 0) return {};
    try {
        return cpuset::parse(text);
    } catch (const std::invalid_argument&) {
        return {};
    }
}

/// The CPUs that are online, or nothing where the system does not tell. `folder` is where it does. May be called from
/// any thread. Errors: std::bad_alloc.
[[nodiscard]] inline cpuset online_cpus(const std::string& folder = "/sys/devices/system/cpu") {
    return read_cpu_list(folder + "/online");
}

/// The CPUs that were taken from the scheduler's domains (`isolcpus=`, isolated cpusets). Otherwise as `online_cpus()`.
[[nodiscard]] inline cpuset isolated_cpus(const std::string& folder = "/sys/devices/system/cpu") {
    return read_cpu_list(folder + "/isolated");
}

} // namespace cmwq::inline CMWQ_NS::detail::os
