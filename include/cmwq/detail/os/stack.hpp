// SPDX-License-Identifier: BSL-1.0
//
// The stack of the calling thread.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>

#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The stack of the calling thread. It grows towards its lowest address. May allocate memory.
[[nodiscard]] inline stack_bounds bounds_of_stack() noexcept {
    pthread_attr_t a;
    if (::pthread_getattr_np(::pthread_self(), &a) != 0) return {};
    void* lowest = nullptr;
    std::size_t size = 0;
    const int r = ::pthread_attr_getstack(&a, &lowest, &size);
    ::pthread_attr_destroy(&a);
    return r == 0 ? stack_bounds{reinterpret_cast<std::uintptr_t>(lowest), size} : stack_bounds{};
}
inline std::uintptr_t stack_end() noexcept { return bounds_of_stack().lowest; }

}}} // namespace cmwq::CMWQ_NS::detail::os
