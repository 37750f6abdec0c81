// SPDX-License-Identifier: BSL-1.0
//
// try_lock_until(): for reports, which must not wait for a thread that a debugger has stopped under a lock.
#pragma once

#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Locks `m` if that is possible before `deadline`, steady clock. Tries at least once.
template <class Mutex>
[[nodiscard]] bool try_lock_until(Mutex& m, std::int64_t deadline) noexcept CMWQ_TRY_ACQUIRE(true, m) CMWQ_NO_TSA {
    for (backoff b;; b.pause()) {
        if (m.try_lock()) return true;
        if (steady_now() >= deadline) return false;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
