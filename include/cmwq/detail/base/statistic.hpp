// SPDX-License-Identifier: BSL-1.0
//
// statistic<T>: a number of a report.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may read and write it, and no thread learns anything else from it: all operations are relaxed. It is not
/// an atomic<T>, so the searches of the tests need not interleave threads at each of them.
template <class T>
class statistic {
public:
    constexpr statistic() noexcept = default;
    constexpr explicit statistic(T v) noexcept : v_(v) {}
    statistic(const statistic&) = delete;
    statistic& operator=(const statistic&) = delete;

    [[nodiscard]] T get() const noexcept { return __atomic_load_n(&v_, __ATOMIC_RELAXED); }
    void set(T v) noexcept { __atomic_store_n(&v_, v, __ATOMIC_RELAXED); }
    /// Sets it to `to`, unless it is not `from` any more.
    void replace(T from, T to) noexcept {
        __atomic_compare_exchange_n(&v_, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    void add(T d) noexcept { __atomic_fetch_add(&v_, d, __ATOMIC_RELAXED); }

private:
    T v_{};
};

}}} // namespace cmwq::CMWQ_NS::detail
