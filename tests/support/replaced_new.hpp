// SPDX-License-Identifier: BSL-1.0
//
// operator new and delete for a program that decides itself which allocations fail. Exactly one file of a program
// includes this header, because it defines the operators.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace cmwq_test {

/// Every allocation calls this, in the thread that allocates. True: the allocation fails. The including file defines
/// it.
bool allocation_fails() noexcept;

inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (allocation_fails()) return nullptr;
    if (size == 0) size = 1;
    return alignment <= alignof(std::max_align_t)
               ? std::malloc(size)
               : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* const p = allocate(size, alignment)) return p;
    throw std::bad_alloc();
}

} // namespace cmwq_test

// Not inlined: g++ would see new and free(), or malloc() and delete, side by side, and warn. The operators for arrays
// call these.
[[gnu::noinline]] void* operator new(std::size_t size) { return cmwq_test::allocate_or_throw(size, 1); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a) {
    return cmwq_test::allocate_or_throw(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return cmwq_test::allocate(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
    return cmwq_test::allocate(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
