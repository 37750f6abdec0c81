// SPDX-License-Identifier: BSL-1.0
//
// What happens around fork().
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <pthread.h>

namespace cmwq::inline CMWQ_NS::detail::os {

/// Once per process. Without memory for it the child of a fork() is on its own, as it is after vfork().
inline void at_fork(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
    ::pthread_atfork(prepare, parent, child);
}

} // namespace cmwq::inline CMWQ_NS::detail::os
