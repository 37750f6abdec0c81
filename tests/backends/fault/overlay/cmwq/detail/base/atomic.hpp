// SPDX-License-Identifier: BSL-1.0
//
// The atomic of the fault backend.
#pragma once

#include <cmwq/detail/base/memory_order.hpp>
#include <fault/fault.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As std::atomic, but other threads may run before and after each write, and before each seq_cst load, because
/// protocols use these loads to check for other threads. Before other loads they run often enough anyway.
template <class T>
class atomic {
    struct between {
        between() noexcept { fault::step(); }
        ~between() { fault::step(); }
        between(const between&) = delete;
        between& operator=(const between&) = delete;
    };

public:
    constexpr atomic() noexcept = default;
    constexpr explicit atomic(T v) noexcept : v_(v) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(memory_order o) const noexcept {
        if (o == seq_cst) fault::step();
        return v_.load(o);
    }
    void store(T v, memory_order o) noexcept {
        const between b;
        v_.store(v, o);
    }
    T exchange(T v, memory_order o) noexcept {
        const between b;
        return v_.exchange(v, o);
    }
    bool compare_exchange_weak(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        const between b;
        if (!fault::fails_weakly()) return v_.compare_exchange_weak(expected, v, ok, fail);
        expected = v_.load(fail);
        return false;
    }
    bool compare_exchange_strong(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        const between b;
        return v_.compare_exchange_strong(expected, v, ok, fail);
    }
    T fetch_add(T d, memory_order o) noexcept {
        const between b;
        return v_.fetch_add(d, o);
    }
    T fetch_sub(T d, memory_order o) noexcept {
        const between b;
        return v_.fetch_sub(d, o);
    }
    T fetch_or(T m, memory_order o) noexcept {
        const between b;
        return v_.fetch_or(m, o);
    }
    T fetch_and(T m, memory_order o) noexcept {
        const between b;
        return v_.fetch_and(m, o);
    }

private:
    std::atomic<T> v_{};
};

}}} // namespace cmwq::CMWQ_NS::detail
