// SPDX-License-Identifier: BSL-1.0
//
// set_once: a pointer that gets a value once, for good. It is not an atomic<T>, because <atomic> has 24,000 lines, and
// each file that includes <cmwq/blocking_region.hpp> alone would have them.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq::inline CMWQ_NS::detail {

template <class T>
class set_once {
public:
    /// Null before it is set. Acquire: the caller finds what the value points to, too [COPY-1].
    [[nodiscard]] T get() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

    /// Relaxed: a hint, for whoever has no need of the value. False may be out of date.
    [[nodiscard]] bool is_set() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED) != nullptr; }

    /// True: the value is `v`, from now on or before. Release, for get() [COPY-1].
    bool set(T v) noexcept {
        T seen = nullptr;
        return __atomic_compare_exchange_n(&value_, &seen, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || seen == v;
    }

private:
    T value_ = nullptr;
};

} // namespace cmwq::inline CMWQ_NS::detail
