// SPDX-License-Identifier: BSL-1.0
//
// What the engine asks the system about the process as a whole: its CPUs, its code, and fork().
#pragma once

#include <cmwq/detail/config.hpp>
#include <cmwq/detail/os/loaded_code.hpp>
#include <cmwq/detail/os/symbol.hpp>
#include <cmwq/detail/os/thread_activity.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using os::describe_activity;
using os::describe_function; // the same for all backends: it waits for nobody that they schedule
using os::keep_loaded;

} // namespace cmwq::inline CMWQ_NS::detail

#if CMWQ_SYNC == 2

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/sync/model_thread.hpp>

#include <limits>

namespace cmwq::inline CMWQ_NS::detail {

template <class F>
void for_each_allowed_cpu(F&& f, long /*tid*/ = 0) {
    for (unsigned c = 0; c < model::nr_cpus(); ++c) f(c);
}

inline long this_thread_id() noexcept { return 1; }
inline long main_thread_id() noexcept { return 1; }
inline int share_of_descriptors() noexcept { return 1 << 20; }
inline own_priority priority_of_process() noexcept { return {}; }
inline const char* environment_variable(const char*) noexcept { return nullptr; }
inline cpuset isolated_cpus() { return {}; }
inline double cpu_quota() noexcept { return std::numeric_limits<double>::infinity(); }

inline void at_fork(void (*)(), void (*)(), void (*)()) noexcept {} // logical threads do not fork

} // namespace cmwq::inline CMWQ_NS::detail

#else

#include <cmwq/detail/os/cgroup.hpp>
#include <cmwq/detail/os/cpu.hpp>
#include <cmwq/detail/os/cpu_list.hpp>
#include <cmwq/detail/os/environment.hpp>
#include <cmwq/detail/os/fork.hpp>
#include <cmwq/detail/os/thread_priority.hpp>
#include <cmwq/detail/os/thread_state.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using os::cpu_quota;
using os::environment_variable;
using os::isolated_cpus;
using os::priority_of_process;
using os::share_of_descriptors;

} // namespace cmwq::inline CMWQ_NS::detail

#endif
