// SPDX-License-Identifier: BSL-1.0
#include <counting/arena.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

void arena::open() noexcept {
    void* const p = ::mmap(reinterpret_cast<void*>(base), capacity, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != reinterpret_cast<void*>(base)) {
        std::fprintf(stderr, "cmwq counting: the addresses of the arena are in use\n");
        std::abort();
    }
    top_ = base;
}

void* arena::allocate(unsigned thread, std::size_t size, std::size_t alignment) noexcept {
    if (top_ == 0) open();
    if (of_.size() <= thread) of_.resize(thread + 1);
    store& own = of_[thread];
    alignment = std::max<std::size_t>(alignment, 16);
    // As with glibc: the size and the header are rounded up together, to 32 bytes at least.
    const std::size_t footprint = std::max<std::size_t>((size + sizeof(header) + 15) / 16 * 16, 32);
    const auto units = static_cast<std::uint32_t>(footprint / 16);
    const std::uint64_t key = key_of(units, alignment);
    for (auto* blocks : {&own.cache[key], &own.free[key]}) {
        if (blocks->empty()) continue;
        void* const block = blocks->back();
        blocks->pop_back();
        return block;
    }
    std::uintptr_t block = (own.next + sizeof(header) + alignment - 1) / alignment * alignment;
    if (own.next == 0 || block - sizeof(header) + footprint > own.end) {
        const std::size_t bytes = (footprint + alignment + chunk - 1) / chunk * chunk;
        if (top_ + bytes > base + capacity) return nullptr;
        own.next = top_;
        own.end = top_ += bytes;
        block = (own.next + sizeof(header) + alignment - 1) / alignment * alignment;
    }
    own.next = block - sizeof(header) + footprint;
    reinterpret_cast<header*>(block)[-1] = {units, static_cast<std::uint16_t>(thread),
                                            static_cast<std::uint16_t>(alignment)};
    return reinterpret_cast<void*>(block);
}

bool arena::release(unsigned thread, void* block) noexcept {
    if (!owns(block)) return false;
    if (of_.size() <= thread) of_.resize(thread + 1);
    const header h = static_cast<header*>(block)[-1];
    const std::uint64_t key = key_of(h.units, h.alignment);
    auto& cache = of_[thread].cache[key];
    (cache.size() < cached ? cache : of_[h.owner].free[key]).push_back(block);
    return true;
}

}}} // namespace cmwq::CMWQ_NS::detail::counting
