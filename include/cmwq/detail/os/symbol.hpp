// SPDX-License-Identifier: BSL-1.0
//
// The names of functions of this process, for diagnoses.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cerrno>
#include <cstddef>
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

/// The loaded file to which a code address belongs.
struct code_origin {
    const char* file = "";      ///< its path
    std::uintptr_t base = 0;    ///< what the dynamic linker has added to the addresses of the file
    const char* name = nullptr; ///< the mangled name of the function that begins at the address; null: not known
};

#ifdef DLFO_STRUCT_HAS_EH_DBASE // glibc 2.35 and later

/// The exported symbol of a loaded file at an address, or null. `base`: as in code_origin.
inline const char* exported_name(const link_map& file, std::uintptr_t base, std::uintptr_t address) noexcept {
    const auto at = [base](ElfW(Addr) p) { return p < base ? p + base : p; }; // most dynamic linkers have added it
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    const std::uint32_t* hash = nullptr;
    for (const ElfW(Dyn)* d = file.l_ld; d != nullptr && d->d_tag != DT_NULL; ++d) {
        if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at(d->d_un.d_ptr));
        else if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at(d->d_un.d_ptr));
        else if (d->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(at(d->d_un.d_ptr));
    }
    if (symbols == nullptr || names == nullptr || hash == nullptr) return nullptr;
    // The table: the number of buckets, the first symbol with a hash, the number of words of a filter, a shift; then the
    // filter, the buckets, and the hashes of the symbols, of which the last one in each bucket is odd.
    const std::uint32_t nr_buckets = hash[0], first = hash[1];
    const std::uint32_t* const buckets = hash + 4 + std::size_t{hash[2]} * (sizeof(ElfW(Addr)) / sizeof *hash);
    const std::uint32_t* const hashes = buckets + nr_buckets;
    for (std::uint32_t b = 0; b < nr_buckets; ++b) {
        if (buckets[b] < first) continue; // empty
        for (std::uint32_t i = buckets[b];; ++i) {
            if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_value + base == address)
                return names + symbols[i].st_name;
            if ((hashes[i - first] & 1) != 0) break;
        }
    }
    return nullptr;
}

/// Finds the origin of an address. False: it belongs to no loaded file. Takes no lock: dladdr() waits for a dlopen(), and
/// that for the constructors of the library that it loads, which may wait for the thread that describes an address. As
/// after dladdr(), the result is valid until the file is unloaded.
inline bool find_code(const void* address, code_origin& to) noexcept {
    dl_find_object found{};
    if (::_dl_find_object(const_cast<void*>(address), &found) != 0 || found.dlfo_link_map == nullptr) return false;
    const link_map& file = *found.dlfo_link_map;
    to.file = file.l_name != nullptr && *file.l_name != 0 ? file.l_name : program_invocation_name;
    to.base = file.l_addr;
    to.name = exported_name(file, to.base, reinterpret_cast<std::uintptr_t>(address));
    return true;
}

#else

/// Finds the origin of an address. False: it belongs to no loaded file. The caller holds no lock of the library: the
/// dynamic linker may wait for a dlopen() that runs constructors.
inline bool find_code(const void* address, code_origin& to) noexcept {
    Dl_info where{};
    if (::dladdr(address, &where) == 0 || where.dli_fbase == nullptr) return false;
    // In a program that is not position independent, addresses are those of the file. Otherwise they are relative to
    // the load address.
    const auto* const head = static_cast<const ElfW(Ehdr)*>(where.dli_fbase);
    to.file = where.dli_fname != nullptr ? where.dli_fname : "";
    to.base = head->e_type == ET_EXEC ? 0 : reinterpret_cast<std::uintptr_t>(where.dli_fbase);
    if (where.dli_saddr == address) to.name = where.dli_sname;
    return true;
}

#endif

/// A text for a code address: the name of the function, if the file exports it (shared libraries, and programs linked
/// with -rdynamic); else "program+0x1234", which `addr2line -Cfe program 0x1234` resolves; else only the address. Throws
/// only std::bad_alloc.
inline std::string describe_function(const void* address) {
    const auto in_hex = [](std::uintptr_t n) {
        char text[2 + 2 * sizeof n + 1];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
        return std::string(text);
    };
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    code_origin origin;
    if (!find_code(address, origin)) return in_hex(a);
    if (origin.name != nullptr) return demangle(origin.name);
    const char* file = *origin.file != 0 ? origin.file : "?";
    if (const char* const slash = std::strrchr(file, '/'); slash != nullptr) file = slash + 1;
    return file + ("+" + in_hex(a - origin.base));
}

/// As above, for a function. The conversion to `const void*` is not standard C++, but POSIX allows it.
template <class R, class... A>
std::string describe_function(R (*function)(A...)) {
    return describe_function(reinterpret_cast<const void*>(function));
}

}}} // namespace cmwq::CMWQ_NS::detail::os
