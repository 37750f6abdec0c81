// SPDX-License-Identifier: BSL-1.0
//
// Handlers of fork().
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <pthread.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Installs the handlers. Called once in a process. If there is no memory, they are not installed, and the library does
/// not work in a child of fork(), as after vfork().
inline void at_fork(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
    ::pthread_atfork(prepare, parent, child);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
