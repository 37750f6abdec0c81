// SPDX-License-Identifier: BSL-1.0
//
// Keeps a shared object that contains the library from being unloaded.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <dlfcn.h>
#include <link.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Keeps the shared object with this code loaded until the process ends, regardless of dlclose(), because threads that
/// are never joined run the code. Does nothing for the program itself, which cannot be unloaded. The caller holds no
/// lock of the library: the function waits for a dlopen() or dlclose() of another thread, whose constructors and
/// destructors may use the library.
inline void keep_loaded(const void* code) noexcept {
    Dl_info where{};
    void* map = nullptr;
    if (::dladdr1(code, &where, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return;
    const char* const file = static_cast<const link_map*>(map)->l_name;
    if (file == nullptr || *file == '\0') return;
    static_cast<void>(::dlopen(file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)); // the handle is never closed
}

}}} // namespace cmwq::CMWQ_NS::detail::os
