// SPDX-License-Identifier: BSL-1.0
//
// busy_workers: the workers in their work loop, for readers without a lock.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <bit>
#include <cstddef>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// An array without gaps. One thread at a time changes it; any number of threads walk it concurrently, and none of them
/// waits. `Worker` has a `std::size_t busy_index`, which only this class uses, and must not be destroyed before this
/// object.
template <class Worker>
class busy_workers {
public:
    busy_workers() noexcept = default;
    busy_workers(const busy_workers&) = delete;
    busy_workers& operator=(const busy_workers&) = delete;
    ~busy_workers() {
        for (auto& b : blocks_) delete[] b.load(relaxed);
    }

    /// Allocates space for n workers. One caller at a time, before the workers are added. False: out of memory.
    [[nodiscard]] bool reserve(std::size_t n) noexcept {
        if (n == 0) return true;
        for (std::size_t b = 0; b <= block_of(n - 1); ++b) {
            if (blocks_[b].load(relaxed) != nullptr) continue;
            auto* const fresh = new (std::nothrow) atomic<Worker*>[size_of(b)] {};
            if (fresh == nullptr) return false;
            blocks_[b].store(fresh, relaxed); // [BUSY-1] published by the size that covers this block
        }
        return true;
    }

    void add(Worker& w) noexcept {
        const std::size_t n = size_.load(relaxed);
        w.busy_index = n;
        at(n).store(&w, release);    // [BUSY-1]
        size_.store(n + 1, release); // [BUSY-1]
    }

    void remove(Worker& w) noexcept {
        const std::size_t last = size_.load(relaxed) - 1;
        Worker& moved = *at(last).load(relaxed);
        // [BUSY-2] First the last worker moves down, then the array gets shorter: a walk from the end down finds that
        // worker in at least one place.
        moved.busy_index = w.busy_index;
        at(w.busy_index).store(&moved, release); // [BUSY-2]
        size_.store(last, release);              // [BUSY-2]
    }

    /// Calls f(Worker&), which returns whether to continue, for each worker that is in the array during the whole walk,
    /// for some that are added or removed during the walk, and, rarely, twice for the same worker.
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t i = size_.load(acquire); i-- > 0;) { // [BUSY-1]
            if (!f(*at(i).load(acquire))) return;             // [BUSY-2]
        }
    }

private:
    static constexpr std::size_t first_size = 16, nr_blocks = 24; // each block is twice as long as the previous one

    static constexpr std::size_t block_of(std::size_t i) noexcept {
        return static_cast<std::size_t>(std::bit_width(i / first_size + 1)) - 1;
    }
    static constexpr std::size_t size_of(std::size_t block) noexcept { return first_size << block; }
    [[nodiscard]] atomic<Worker*>& at(std::size_t i) const noexcept {
        const std::size_t b = block_of(i);
        return blocks_[b].load(relaxed)[i - (size_of(b) - first_size)];
    }

    atomic<std::size_t> size_{0}; // on the cache line of the first blocks, which are all that most pools need
    atomic<atomic<Worker*>*> blocks_[nr_blocks] = {};
};

}}} // namespace cmwq::CMWQ_NS::detail
