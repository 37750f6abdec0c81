// SPDX-License-Identifier: BSL-1.0
//
// Blocks of memory for closures, and the blocks that a worker keeps for itself.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/sanitizer.hpp>

#include <cstddef>
#include <new>
#include <utility>

#ifdef CMWQ_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The size of a block, in bytes. Larger closures are not recycled.
inline constexpr std::size_t closure_block = 128;

/// Up to 32 free blocks, the last one that was pushed on top. Not thread-safe.
class block_stack {
public:
    static constexpr unsigned max = 32;

    block_stack() noexcept = default;
    block_stack(const block_stack&) = delete;
    block_stack& operator=(const block_stack&) = delete;
    ~block_stack() { free_all(); }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] bool full() const noexcept { return size_ == max; }

    /// The stack is not full.
    void push(void* block) noexcept {
        top_ = new (block) link{top_};
        ++size_;
        forbid_access(block);
    }
    /// The stack is not empty.
    [[nodiscard]] void* pop() noexcept {
        allow_access(top_);
        --size_;
        return std::exchange(top_, top_->next);
    }
    void swap(block_stack& other) noexcept {
        std::swap(top_, other.top_);
        std::swap(size_, other.size_);
    }
    /// Gives all blocks to the allocator.
    void free_all() noexcept {
        while (!empty()) ::operator delete(pop());
    }

private:
    struct link {
        link* next;
    };
    // AddressSanitizer reports the use of a closure whose memory is in a stack. It must see the links, because it
    // searches for leaks by following pointers.
#ifdef CMWQ_ADDRESS_SANITIZER
    static void forbid_access(void* block) noexcept {
        __asan_poison_memory_region(static_cast<link*>(block) + 1, closure_block - sizeof(link));
    }
    static void allow_access(void* block) noexcept {
        __asan_unpoison_memory_region(static_cast<link*>(block) + 1, closure_block - sizeof(link));
    }
#else
    static void forbid_access(void* /*block*/) noexcept {}
    static void allow_access(void* /*block*/) noexcept {}
#endif
    link* top_ = nullptr;
    unsigned size_ = 0;
};

/// The free blocks of a worker, at most 64. Two stacks, so that a worker that makes and destroys closures in turns does
/// not exchange a full stack for each of them. Only the worker uses it.
class closure_cache {
public:
    /// Returns a block; null: there is none, also not in `memory`.
    template <class Memory>
    [[nodiscard]] void* take(Memory& memory) noexcept {
        if (first_.empty()) {
            first_.swap(second_);
            if (first_.empty() && !memory.take_full(first_)) return nullptr;
        }
        return first_.pop();
    }
    template <class Memory>
    void give(void* block, Memory& memory) noexcept {
        if (first_.full()) [[unlikely]]
            make_room(memory);
        first_.push(block);
    }
    /// The worker goes idle on that CPU.
    template <class Memory>
    void give_all(unsigned cpu, Memory& memory) noexcept {
        if (second_.full()) memory.give_full(second_);
        memory.give(cpu, first_);
    }

private:
    // Not inline: without this, give() needs no stack frame; the worker calls it for each closure.
    template <class Memory>
    [[gnu::noinline]] void make_room(Memory& memory) noexcept {
        if (second_.full()) memory.give_full(second_);
        first_.swap(second_);
    }

    block_stack first_, second_; // second_ is empty or full
};

}}} // namespace cmwq::CMWQ_NS::detail
