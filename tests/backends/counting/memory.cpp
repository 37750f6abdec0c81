// SPDX-License-Identifier: BSL-1.0
//
// operator new and delete of a program with the counting backend. Simulated threads get memory from the arena.
#include <counting/arena.hpp>
#include <counting/scheduler.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

using namespace cmwq::detail::counting;

// Never destroyed: static objects may free their memory after it.
arena& memory() noexcept {
    alignas(arena) static std::byte storage[sizeof(arena)];
    static arena* const a = new (storage) arena;
    return *a;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) {
        if (size == 0) size = 1;
        return alignment <= alignof(std::max_align_t)
                   ? std::malloc(size)
                   : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    const scheduler::section inside;
    if (counts* const to = s->counted_now()) ++to->allocations;
    return memory().allocate(s->self().id, size, alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* const p = allocate(size, alignment)) return p;
    throw std::bad_alloc();
}

void release(void* p) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) {
        // Code of the machine, or code outside of a run, may free a block of a thread that has ended.
        if (!arena::owns(p)) std::free(p);
        return;
    }
    const scheduler::section inside;
    if (!memory().release(s->self().id, p)) std::free(p);
}

} // namespace

// Not inlined: g++ would see new and free(), or malloc() and delete, side by side, and warn. The operators for arrays
// call these.
[[gnu::noinline]] void* operator new(std::size_t size) { return allocate_or_throw(size, 1); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a) {
    return allocate_or_throw(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
