// SPDX-License-Identifier: BSL-1.0
//
// A shared object that contains the library, and that somebody unloads.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <dlfcn.h>
#include <link.h>

namespace cmwq::inline CMWQ_NS::detail::os {

/// The shared object with this code stays loaded until the process ends, however often it is closed: threads are going to
/// run it that nobody joins. Nothing to do for the program itself, which cannot be unloaded. Without a lock of the
/// library held: it waits for a dlopen() or dlclose() of another thread, whose constructors and destructors may use it.
inline void keep_loaded(const void* code) noexcept {
    Dl_info where{};
    void* map = nullptr;
    if (::dladdr1(code, &where, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return;
    const char* const file = static_cast<const link_map*>(map)->l_name;
    if (file == nullptr || *file == '\0') return;
    static_cast<void>(::dlopen(file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)); // and the handle is never closed
}

} // namespace cmwq::inline CMWQ_NS::detail::os
