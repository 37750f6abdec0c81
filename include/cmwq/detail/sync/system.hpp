// SPDX-License-Identifier: BSL-1.0
//
// What the engine asks the system about the process as a whole: its CPUs, and fork().
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 2

#include <cmwq/detail/sync/model_thread.hpp>

namespace cmwq::inline CMWQ_NS::detail {

template <class F>
void for_each_allowed_cpu(F&& f) {
    for (unsigned c = 0; c < model::nr_cpus(); ++c) f(c);
}

inline void at_fork(void (*)(), void (*)(), void (*)()) noexcept {} // logical threads do not fork

template <class ForEachCpu>
void leave_inherited_binding(ForEachCpu&&) {} // and inherit nothing

} // namespace cmwq::inline CMWQ_NS::detail

#else

#include <cmwq/detail/os/cpu.hpp>
#include <cmwq/detail/os/fork.hpp>

#endif
