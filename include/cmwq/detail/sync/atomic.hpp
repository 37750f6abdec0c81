// SPDX-License-Identifier: BSL-1.0
//
// atomic<T> without default memory orders: every operation says which order it needs. Integers, enums and pointers.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_atomic.hpp>
#else

#include <atomic>

#if CMWQ_SYNC == 1
#include <cmwq/detail/sync/fault_atomic.hpp>
#endif

namespace cmwq::inline CMWQ_NS::detail {

#if CMWQ_SYNC == 1
template <class T>
using plain_atomic = fault::shaky_atomic<T>;
#else
template <class T>
using plain_atomic = std::atomic<T>;
#endif

using memory_order = std::memory_order;
inline constexpr memory_order relaxed = std::memory_order_relaxed;
inline constexpr memory_order acquire = std::memory_order_acquire;
inline constexpr memory_order release = std::memory_order_release;
inline constexpr memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr memory_order seq_cst = std::memory_order_seq_cst;

template <class T>
class atomic {
public:
    constexpr atomic() noexcept = default;
    constexpr explicit atomic(T v) noexcept : v_(v) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(memory_order o) const noexcept { return v_.load(o); }
    void store(T v, memory_order o) noexcept { v_.store(v, o); }
    T exchange(T v, memory_order o) noexcept { return v_.exchange(v, o); }
    bool compare_exchange_weak(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        return v_.compare_exchange_weak(expected, v, ok, fail);
    }
    bool compare_exchange_strong(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        return v_.compare_exchange_strong(expected, v, ok, fail);
    }
    T fetch_add(T d, memory_order o) noexcept { return v_.fetch_add(d, o); }
    T fetch_sub(T d, memory_order o) noexcept { return v_.fetch_sub(d, o); }
    T fetch_or(T m, memory_order o) noexcept { return v_.fetch_or(m, o); }
    T fetch_and(T m, memory_order o) noexcept { return v_.fetch_and(m, o); }

private:
    plain_atomic<T> v_{};
};

/// A hint to the processor that the calling thread waits for another one.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
