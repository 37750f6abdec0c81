// SPDX-License-Identifier: BSL-1.0
//
// The attributes of a thread that serves the program, not one of its threads.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdio>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The calling thread gets this name, and the priority and the CPUs of the process, whichever thread has made it. A
/// refusal does not matter.
inline void become_helper(const char* name) noexcept {
    thread_attributes a{.own = priority_of_process()};
    std::snprintf(a.name, sizeof a.name, "%s", name);
    try {
        const cpuset cpus = allowed_cpus(main_thread_id());
        if (!cpus.empty()) a.cpus = &cpus;
        apply_to_this_thread(a);
    } catch (const std::bad_alloc&) {
        apply_to_this_thread(a);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
