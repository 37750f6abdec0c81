// SPDX-License-Identifier: BSL-1.0
//
// closure_storage: makes and destroys closures in memory that is used again.
#pragma once

#include <cmwq/detail/engine_ops.hpp>

#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Makes a `T` for a queue. Throws std::bad_alloc, and an exception of the constructor.
template <class T, class... Arguments>
[[nodiscard]] T* make_closure(queue_core& q, Arguments&&... arguments) {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        return new T(std::forward<Arguments>(arguments)...);
    } else {
        struct memory {
            void* p;
            ~memory() {
                if (p != nullptr) free_closure(p, sizeof(T));
            }
        } m{allocate_closure(q, sizeof(T))};
        T* const made = new (m.p) T(std::forward<Arguments>(arguments)...);
        m.p = nullptr;
        return made;
    }
}

/// Destroys an object of make_closure().
template <class T>
void destroy_closure(T* closure) noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        delete closure;
    } else {
        closure->~T();
        free_closure(closure, sizeof(T));
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
