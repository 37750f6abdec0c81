// SPDX-License-Identifier: BSL-1.0
//
// Memory for closures: blocks of one size, which are used again. post() calls the allocator when no block is free, as
// while the closures of a thread outside the pool pile up, and for closures that are larger than a block.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/closure_blocks.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The blocks that no worker keeps, of one runtime. Full stacks go from the workers that destroy closures to the
/// threads that make them. Threads that are no workers take single blocks from the stack of their CPU.
///
/// Any thread may call every member. None of them waits: if another thread has the lock, the caller uses the allocator.
/// So a forked child may call them, too.
/// Letters: I constant · A atomic · C the lock of the stack of a CPU · F lock_
class closure_memory {
public:
    explicit closure_memory(unsigned nr_cpus)
        : nr_stacks_(nr_cpus < max_stacks ? nr_cpus : max_stacks), of_cpus_(new cpu_stack[nr_stacks_]) {}
    closure_memory(const closure_memory&) = delete;
    closure_memory& operator=(const closure_memory&) = delete;
    ~closure_memory();

    /// Takes a block for a thread on the CPU with that index. Null: there is none.
    [[nodiscard]] void* take(unsigned cpu) noexcept;
    /// Fills an empty stack. False: there is no full one.
    [[nodiscard]] bool take_full(block_stack& to) noexcept CMWQ_EXCLUDES(lock_);
    /// Empties a full stack.
    void give_full(block_stack& from) noexcept CMWQ_EXCLUDES(lock_);
    /// A worker on that CPU goes idle: keeps its blocks for other threads, as far as there is space.
    void give(unsigned cpu, block_stack& from) noexcept;
    /// Nothing has been pending for a while: gives the blocks back to the allocator. Workers keep theirs.
    void free_all() noexcept CMWQ_EXCLUDES(lock_);

private:
    static constexpr unsigned max_stacks = 64, max_full = 128;

    struct alignas(cache_line) cpu_stack {
        ranked_mutex<lock_rank::closures> lock;
        block_stack blocks CMWQ_GUARDED_BY(lock); // C
        atomic<bool> filled{false};               // A: it has blocks; a hint
    };

    const unsigned nr_stacks_;                   // I
    const std::unique_ptr<cpu_stack[]> of_cpus_; // I
    ranked_mutex<lock_rank::full_stacks> lock_;
    atomic<unsigned> nr_full_{0};                       // A: written under F
    block_stack full_[max_full] CMWQ_GUARDED_BY(lock_); // F: the first nr_full_ are full, the others are empty
};

}}} // namespace cmwq::CMWQ_NS::detail
