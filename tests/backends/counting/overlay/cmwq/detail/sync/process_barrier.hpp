// SPDX-License-Identifier: BSL-1.0
//
// The barrier for all threads of the counting backend.
#pragma once

#include <cmwq/detail/os/process_barrier.hpp>
#include <counting/machine.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The simulated machine keeps no store back. A run() takes time on all CPUs.
struct process_barrier : os::process_barrier {
    [[nodiscard]] static bool is_ready() noexcept { return true; }
    static void want() noexcept {}
    [[nodiscard]] static bool is_wanted() noexcept { return false; }
    static void prepare() noexcept {}
    static void prepare_if_quick() noexcept {}
    static void run() noexcept { counting::barrier_of_all(); }
};

}}} // namespace cmwq::CMWQ_NS::detail
