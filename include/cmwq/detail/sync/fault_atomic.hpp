// SPDX-License-Identifier: BSL-1.0
//
// What an atomic of the fault backend is made of.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 1

#include <cmwq/detail/sync/fault.hpp>

#include <atomic>

namespace cmwq::inline CMWQ_NS::detail::fault {

/// std::atomic, and before and after each write other threads may get in. So they may at sequentially consistent loads,
/// which are the looks of a protocol; at others they come in often enough.
template <class T>
class shaky_atomic : public std::atomic<T> {
    using base = std::atomic<T>;
    using order = std::memory_order;

    struct between {
        between() noexcept { step(); }
        ~between() { step(); }
        between(const between&) = delete;
        between& operator=(const between&) = delete;
    };

public:
    constexpr shaky_atomic() noexcept = default;
    constexpr explicit shaky_atomic(T v) noexcept : base(v) {}

    [[nodiscard]] T load(order o) const noexcept {
        if (o == std::memory_order_seq_cst) step();
        return base::load(o);
    }
    void store(T v, order o) noexcept {
        const between b;
        base::store(v, o);
    }
    T exchange(T v, order o) noexcept {
        const between b;
        return base::exchange(v, o);
    }
    bool compare_exchange_weak(T& expected, T v, order ok, order fail) noexcept {
        const between b;
        if (!fails_weakly()) return base::compare_exchange_weak(expected, v, ok, fail);
        expected = base::load(fail);
        return false;
    }
    bool compare_exchange_strong(T& expected, T v, order ok, order fail) noexcept {
        const between b;
        return base::compare_exchange_strong(expected, v, ok, fail);
    }
    T fetch_add(T d, order o) noexcept {
        const between b;
        return base::fetch_add(d, o);
    }
    T fetch_sub(T d, order o) noexcept {
        const between b;
        return base::fetch_sub(d, o);
    }
    T fetch_or(T m, order o) noexcept {
        const between b;
        return base::fetch_or(m, o);
    }
    T fetch_and(T m, order o) noexcept {
        const between b;
        return base::fetch_and(m, o);
    }
};

} // namespace cmwq::inline CMWQ_NS::detail::fault

#endif
