// SPDX-License-Identifier: BSL-1.0
//
// The memory of the simulated threads: operator new and delete, with addresses that are equal in every run.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

/// An allocator with the address pattern of glibc's malloc: blocks of one thread lie side by side, and those of
/// different threads do not share a line until a block changes hands. A freed block goes to the cache of the thread
/// that frees it, and, if that has some of the size already, to the thread that allocated it first. The allocator's own
/// accesses are not counted.
class arena {
public:
    [[nodiscard]] void* allocate(unsigned thread, std::size_t size, std::size_t alignment) noexcept;
    /// False: the block is from another allocator.
    [[nodiscard]] bool release(unsigned thread, void* block) noexcept;
    /// Whether the address can be one of a block of an arena.
    [[nodiscard]] static bool owns(const void* block) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        return address >= base && address < base + capacity;
    }

private:
    static constexpr std::uintptr_t base = 0x2000'0000'0000;
    static constexpr std::size_t capacity = std::size_t{64} << 30, chunk = std::size_t{256} << 10;
    static constexpr std::size_t cached = 7; // as many as glibc keeps for each size

    // In front of each block.
    struct header {
        std::uint32_t units;     // the size in steps of 16 bytes
        std::uint16_t owner;     // the thread that allocated it first
        std::uint16_t alignment; // in bytes
    };
    static_assert(sizeof(header) == 8);

    struct store {
        std::uintptr_t next = 0, end = 0;
        std::unordered_map<std::uint64_t, std::vector<void*>> cache, free;
    };

    static std::uint64_t key_of(std::uint32_t units, std::size_t alignment) noexcept {
        return (static_cast<std::uint64_t>(alignment) << 32) | units;
    }
    void open() noexcept;

    std::uintptr_t top_ = 0;
    std::vector<store> of_;
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
