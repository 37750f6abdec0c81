// SPDX-License-Identifier: BSL-1.0
//
// The stack of the calling thread.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The lowest address of the stack of the calling thread, which grows towards it; 0: unknown. May allocate memory.
inline std::uintptr_t stack_end() noexcept {
    pthread_attr_t a;
    if (::pthread_getattr_np(::pthread_self(), &a) != 0) return 0;
    void* end = nullptr;
    std::size_t size = 0;
    const int r = ::pthread_attr_getstack(&a, &end, &size);
    ::pthread_attr_destroy(&a);
    return r == 0 ? reinterpret_cast<std::uintptr_t>(end) : 0;
}

}}} // namespace cmwq::CMWQ_NS::detail::os
