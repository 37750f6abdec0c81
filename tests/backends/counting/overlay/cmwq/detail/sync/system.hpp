// SPDX-License-Identifier: BSL-1.0
//
// The process-wide system functions of the counting backend: fixed answers, and the CPUs of the simulated machine.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/os/file.hpp>
#include <cmwq/detail/os/loaded_code.hpp>
#include <cmwq/detail/os/symbol.hpp>
#include <cmwq/detail/os/thread_activity.hpp>
#include <counting/machine.hpp>

#include <cstdint>
#include <limits>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using os::absolute_path;
using os::describe_activity;
using os::describe_function;
using os::keep_loaded;
using os::print_last_words;
using os::replace_file;
using os::tell_unwritten;
using os::with_process_number;

inline cpuset allowed_cpus(long /*tid*/ = 0) { return cpuset::range(0, counting::nr_cpus()); }

struct signal_mask {};
inline void return_to_program(const cpuset&, const own_priority&, const signal_mask&) noexcept {}
inline std::uintptr_t stack_end() noexcept { return 0; } // threads are fibers
inline stack_bounds bounds_of_stack() noexcept { return {}; }
struct no_cancellation {
    no_cancellation() noexcept {}
};
inline long this_thread_id() noexcept { return 1; }
inline long main_thread_id() noexcept { return 1; }
inline int share_of_descriptors() noexcept { return 1 << 20; }
inline own_priority priority_of_process() noexcept { return {}; }
inline own_priority priority_of_this_thread() noexcept { return {}; }
inline const char* environment_variable(const char*) noexcept { return nullptr; }
inline cpuset isolated_cpus() { return {}; }
inline double cpu_quota() noexcept { return std::numeric_limits<double>::infinity(); }

inline void at_fork(void (*)(), void (*)(), void (*)()) noexcept {} // simulated threads do not fork

}}} // namespace cmwq::CMWQ_NS::detail
