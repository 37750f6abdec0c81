// SPDX-License-Identifier: BSL-1.0
//
// set_once: a pointer that gets a value once and keeps it. It does not use atomic<T>, because <atomic> has 24,000
// lines, and every file that includes <cmwq/blocking_region.hpp> would include them.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// T is a pointer type. Any thread may call every member.
template <class T>
class set_once {
public:
    /// Null before it is set. Acquire: the caller sees the object that the value points to [COPY-1].
    [[nodiscard]] T get() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

    /// Relaxed: a hint for callers that do not use the value. False may be out of date.
    [[nodiscard]] bool is_set() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED) != nullptr; }

    /// Sets the value if it is null. True: the value is `v`, set by this call or before. Release, for get() [COPY-1].
    bool set(T v) noexcept {
        T seen = nullptr;
        return __atomic_compare_exchange_n(&value_, &seen, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || seen == v;
    }

private:
    T value_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
