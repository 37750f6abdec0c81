// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>

namespace treehash {

/// The number of CPUs that this process may use.
[[nodiscard]] inline unsigned usable_cpus() noexcept {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(CPU_COUNT(&set));
}

} // namespace treehash
