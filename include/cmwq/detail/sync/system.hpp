// SPDX-License-Identifier: BSL-1.0
//
// The system functions of the engine that concern the whole process: its CPUs, its code, and fork().
#pragma once

#include <cmwq/detail/os/cgroup.hpp>
#include <cmwq/detail/os/cpu.hpp>
#include <cmwq/detail/os/cpu_list.hpp>
#include <cmwq/detail/os/environment.hpp>
#include <cmwq/detail/os/file.hpp>
#include <cmwq/detail/os/fork.hpp>
#include <cmwq/detail/os/loaded_code.hpp>
#include <cmwq/detail/os/no_cancellation.hpp>
#include <cmwq/detail/os/stack.hpp>
#include <cmwq/detail/os/symbol.hpp>
#include <cmwq/detail/os/thread_activity.hpp>
#include <cmwq/detail/os/thread_priority.hpp>
#include <cmwq/detail/os/thread_state.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using os::absolute_path;
using os::allowed_cpus;
using os::at_fork;
using os::bounds_of_stack;
using os::cpu_quota;
using os::describe_activity;
using os::describe_function;
using os::environment_variable;
using os::isolated_cpus;
using os::keep_loaded;
using os::main_thread_id;
using os::no_cancellation;
using os::output_file;
using os::print_last_words;
using os::priority_of_process;
using os::priority_of_this_thread;
using os::replace_file;
using os::return_to_program;
using os::share_of_descriptors;
using os::signal_mask;
using os::stack_end;
using os::tell_unwritten;
using os::this_thread_id;
using os::with_process_number;

}}} // namespace cmwq::CMWQ_NS::detail
