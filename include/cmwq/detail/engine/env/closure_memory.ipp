// SPDX-License-Identifier: BSL-1.0
//
// Bodies of closure_memory.

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE closure_memory::~closure_memory() { free_all(); }

CMWQ_INLINE void* closure_memory::take(unsigned cpu) noexcept {
    constexpr unsigned nr_looks = 4; // the worker that went idle last may have been on another CPU
    cpu_stack& own = of_cpus_[cpu % nr_stacks_];
    for (unsigned i = 0; i < nr_looks && i < nr_stacks_; ++i) {
        cpu_stack& s = of_cpus_[(cpu + i) % nr_stacks_];
        if (!s.filled.load(relaxed) || !s.lock.try_lock()) continue;
        const scoped_lock g(s.lock, adopt_lock);
        if (s.blocks.empty()) continue;
        void* const p = s.blocks.pop();
        s.filled.store(!s.blocks.empty(), relaxed);
        return p;
    }
    if (nr_full_.load(relaxed) == 0 || !own.lock.try_lock()) return nullptr;
    const scoped_lock g(own.lock, adopt_lock);
    if (own.blocks.empty() && !take_full(own.blocks)) return nullptr;
    void* const p = own.blocks.pop();
    own.filled.store(!own.blocks.empty(), relaxed);
    return p;
}

CMWQ_INLINE bool closure_memory::take_full(block_stack& to) noexcept {
    if (nr_full_.load(relaxed) == 0 || !lock_.try_lock()) return false;
    const scoped_lock g(lock_, adopt_lock);
    const unsigned n = nr_full_.load(relaxed);
    if (n == 0) return false;
    to.swap(full_[n - 1]);
    nr_full_.store(n - 1, relaxed);
    return true;
}

CMWQ_INLINE void closure_memory::give_full(block_stack& from) noexcept {
    constexpr int nr_attempts = 64; // the lock is held for a few nanoseconds, the allocator takes longer
    for (int i = 0; i < nr_attempts && !from.empty(); ++i) {
        if (!lock_.try_lock()) {
            cpu_relax();
            continue;
        }
        const scoped_lock g(lock_, adopt_lock);
        const unsigned n = nr_full_.load(relaxed);
        if (n == max_full) break;
        full_[n].swap(from);
        nr_full_.store(n + 1, relaxed);
    }
    from.free_all();
}

CMWQ_INLINE void closure_memory::give(unsigned cpu, block_stack& from) noexcept {
    if (from.empty()) return;
    cpu_stack& s = of_cpus_[cpu % nr_stacks_];
    if (!s.lock.try_lock()) return;
    const scoped_lock g(s.lock, adopt_lock);
    if (!s.blocks.empty()) return;
    s.blocks.swap(from);
    s.filled.store(true, relaxed);
}

CMWQ_INLINE void closure_memory::free_all() noexcept {
    for (unsigned i = 0; i < nr_stacks_; ++i) {
        cpu_stack& s = of_cpus_[i];
        if (!s.lock.try_lock()) continue; // the stack is in use
        const scoped_lock g(s.lock, adopt_lock);
        s.blocks.free_all();
        s.filled.store(false, relaxed);
    }
    if (!lock_.try_lock()) return;
    const scoped_lock g(lock_, adopt_lock);
    for (unsigned n = nr_full_.load(relaxed); n != 0; --n) full_[n - 1].free_all();
    nr_full_.store(0, relaxed);
}

}}} // namespace cmwq::CMWQ_NS::detail
