// SPDX-License-Identifier: BSL-1.0
//
// atomic<T> without default memory orders: every operation names the order that it needs. For integers, enumerations
// and pointers.
#pragma once

#include <cmwq/detail/base/memory_order.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

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
    std::atomic<T> v_{};
};

}}} // namespace cmwq::CMWQ_NS::detail
