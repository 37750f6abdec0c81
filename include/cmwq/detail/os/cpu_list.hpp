// SPDX-License-Identifier: BSL-1.0
//
// The kernel's lists of CPUs: online, isolated.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/os/file.hpp>

#include <stdexcept>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The set in a file with a text such as "0-3,8". Empty if the file cannot be read or has another form.
[[nodiscard]] inline cpuset read_cpu_list(const std::string& path) {
    std::string text;
    if (read_file(path.c_str(), text) != 0) return {};
    try {
        return cpuset::parse(text);
    } catch (const std::invalid_argument&) {
        return {};
    }
}

/// The CPUs that are online; empty if the system has no such file in `folder`. Any thread may call it. Throws
/// std::bad_alloc.
[[nodiscard]] inline cpuset online_cpus(const std::string& folder = "/sys/devices/system/cpu") {
    return read_cpu_list(folder + "/online");
}

/// The CPUs that were taken from the scheduler's domains (`isolcpus=`, isolated cpusets). Otherwise as `online_cpus()`.
[[nodiscard]] inline cpuset isolated_cpus(const std::string& folder = "/sys/devices/system/cpu") {
    return read_cpu_list(folder + "/isolated");
}

}}} // namespace cmwq::CMWQ_NS::detail::os
