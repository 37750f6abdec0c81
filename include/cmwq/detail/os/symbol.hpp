// SPDX-License-Identifier: BSL-1.0
//
// The names of functions of this process, for diagnoses.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <new>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The demangled name; `symbol` itself if it is not a mangled C++ name. Throws std::bad_alloc.
inline std::string demangle(const char* symbol) {
    struct freer {
        void operator()(char* p) const noexcept { std::free(p); }
    };
    int status = 0;
    const std::unique_ptr<char, freer> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
    if (status == -1) throw std::bad_alloc();
    return name != nullptr ? name.get() : symbol;
}

/// A text for a code address: the name of the function, if the dynamic linker knows one (shared libraries, and programs
/// linked with -rdynamic); else "program+0x1234", which `addr2line -Cfe program 0x1234` resolves; else only the
/// address. Any thread may call it, without a lock of the library: the dynamic linker may wait for a dlopen() that runs
/// constructors. Throws only std::bad_alloc.
inline std::string describe_function(const void* address) {
    const auto in_hex = [](std::uintptr_t n) {
        char text[2 + 2 * sizeof n + 1];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
        return std::string(text);
    };
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    Dl_info where{};
    if (::dladdr(address, &where) == 0 || where.dli_fbase == nullptr) return in_hex(a);
    if (where.dli_sname != nullptr && where.dli_saddr == address) return demangle(where.dli_sname);
    // In a program that is not position independent, addresses are those of the file. Otherwise they are relative to
    // the load address.
    const auto* const head = static_cast<const ElfW(Ehdr)*>(where.dli_fbase);
    const std::uintptr_t base = head->e_type == ET_EXEC ? 0 : reinterpret_cast<std::uintptr_t>(where.dli_fbase);
    const char* file = where.dli_fname != nullptr && *where.dli_fname != '\0' ? where.dli_fname : "?";
    if (const char* const slash = std::strrchr(file, '/'); slash != nullptr) file = slash + 1;
    return file + ("+" + in_hex(a - base));
}

/// As above, for a function. The conversion to `const void*` is not standard C++, but POSIX allows it.
template <class R, class... A>
std::string describe_function(R (*function)(A...)) {
    return describe_function(reinterpret_cast<const void*>(function));
}

}}} // namespace cmwq::CMWQ_NS::detail::os
