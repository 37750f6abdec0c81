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
#include <cxxabi.h>
#include <link.h>
#include <memory>
#include <new>
#include <string>

// Code that runs under the lock of the dynamic linker. ThreadSanitizer takes that lock for a report, under locks of its
// own that instrumented code takes as well, and so do the functions of the C library that it replaces.
#if defined(__clang__)
#define CMWQ_UNDER_LINKER_LOCK __attribute__((disable_sanitizer_instrumentation))
#else
#define CMWQ_UNDER_LINKER_LOCK __attribute__((no_sanitize_thread))
#endif

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

/// Copies a text, or the part of it for which there is room. Whether there was room for all of it.
template <std::size_t Room>
CMWQ_UNDER_LINKER_LOCK bool copy_text(char (&to)[Room], const char* from) noexcept {
    std::size_t n = 0;
    for (; n < Room - 1 && from[n] != 0; ++n) to[n] = from[n];
    to[n] = 0;
    return from[n] == 0;
}

/// An address in the dynamic section of a file. Most dynamic linkers have added `base`.
CMWQ_UNDER_LINKER_LOCK inline ElfW(Addr) loaded_address(ElfW(Addr) p, std::uintptr_t base) noexcept {
    return p < base ? p + base : p;
}

/// The exported symbol of a loaded file at an address, or null. `base`: what the dynamic linker has added to the
/// addresses of the file. The file stays loaded during the call.
CMWQ_UNDER_LINKER_LOCK inline const char* exported_name(const ElfW(Dyn) * section, std::uintptr_t base,
                                                        std::uintptr_t address) noexcept {
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    const std::uint32_t* hash = nullptr;
    for (const ElfW(Dyn)* d = section; d != nullptr && d->d_tag != DT_NULL; ++d) {
        if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(loaded_address(d->d_un.d_ptr, base));
        else if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(loaded_address(d->d_un.d_ptr, base));
        else if (d->d_tag == DT_GNU_HASH)
            hash = reinterpret_cast<const std::uint32_t*>(loaded_address(d->d_un.d_ptr, base));
    }
    if (symbols == nullptr || names == nullptr || hash == nullptr) return nullptr;
    // The table: the number of buckets, the first symbol with a hash, the number of words of a filter, a shift; then
    // the filter, the buckets, and the hashes of the symbols, of which the last one in each bucket is odd.
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

/// What the dynamic linker knows about a code address.
class code_origin {
public:
    explicit code_origin(std::uintptr_t a) noexcept : address(a) {}

    /// Looks it up. False: the address belongs to no loaded file. The dynamic linker unloads no file meanwhile. A
    /// dlopen() only waits while it adds a file: not in the constructors of that file, as dladdr() would, which may
    /// wait for the thread that describes an address.
    [[nodiscard]] bool find() noexcept { return ::dl_iterate_phdr(&code_origin::visit, this) != 0; }

    const std::uintptr_t address;
    std::uintptr_t base = 0; ///< what the dynamic linker has added to the addresses of the file
    char file[256] = "";     ///< the last part of its path
    char name[4096] = "";    ///< the mangled name of the function that begins at the address; empty: not known

private:
    CMWQ_UNDER_LINKER_LOCK static int visit(dl_phdr_info* one, std::size_t /*size*/, void* self) noexcept {
        return static_cast<code_origin*>(self)->is_in(*one) ? 1 : 0;
    }
    CMWQ_UNDER_LINKER_LOCK bool is_in(const dl_phdr_info& f) noexcept {
        const ElfW(Dyn)* section = nullptr;
        bool is_here = false;
        for (int i = 0; i < f.dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = f.dlpi_phdr[i];
            const std::uintptr_t begin = f.dlpi_addr + part.p_vaddr;
            if (part.p_type == PT_LOAD) is_here |= address - begin < part.p_memsz;
            else if (part.p_type == PT_DYNAMIC) section = reinterpret_cast<const ElfW(Dyn)*>(begin);
        }
        if (!is_here) return false;
        base = f.dlpi_addr;
        const char* last = f.dlpi_name != nullptr && *f.dlpi_name != 0 ? f.dlpi_name : program_invocation_name;
        for (const char* c = last; *c != 0; ++c) {
            if (*c == '/') last = c + 1;
        }
        static_cast<void>(copy_text(file, last));
        const char* const found = exported_name(section, base, address);
        if (found != nullptr && !copy_text(name, found)) name[0] = 0;
        return true;
    }
};

/// A text for a code address: the name of the function, if the file exports it (shared libraries, and programs linked
/// with -rdynamic); else "program+0x1234", which `addr2line -Cfe program 0x1234` resolves; else only the address.
/// Throws only std::bad_alloc. The file may be unloaded meanwhile.
inline std::string describe_function(const void* address) {
    const auto in_hex = [](std::uintptr_t n) {
        char text[2 + 2 * sizeof n + 1];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
        return std::string(text);
    };
    code_origin origin(reinterpret_cast<std::uintptr_t>(address));
    if (!origin.find()) return in_hex(origin.address);
    if (origin.name[0] != 0) return demangle(origin.name);
    return (origin.file[0] != 0 ? origin.file : "?") + ("+" + in_hex(origin.address - origin.base));
}

/// As above, for a function. The conversion to `const void*` is not standard C++, but POSIX allows it.
template <class R, class... A>
std::string describe_function(R (*function)(A...)) {
    return describe_function(reinterpret_cast<const void*>(function));
}

}}} // namespace cmwq::CMWQ_NS::detail::os
