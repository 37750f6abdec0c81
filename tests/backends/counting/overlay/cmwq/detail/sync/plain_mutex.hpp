// SPDX-License-Identifier: BSL-1.0
//
// The mutex of the counting backend: that of the library, which tells the machine whether it had to wait.
#pragma once

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex_protocol.hpp>
#include <counting/machine.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As large as that of the library, because it shares cache lines with the data around it.
class CMWQ_TSA(capability("mutex")) mutex : private basic_mutex<futex> {
public:
    void lock() noexcept CMWQ_ACQUIRE() CMWQ_NO_TSA {
        const counting::lock_attempt attempt = counting::begin_lock();
        basic_mutex::lock();
        counting::end_lock(attempt);
    }
    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) CMWQ_NO_TSA { return basic_mutex::try_lock(); }
    void unlock() noexcept CMWQ_RELEASE() CMWQ_NO_TSA { basic_mutex::unlock(); }
};
static_assert(sizeof(mutex) == sizeof(basic_mutex<futex>));

}}} // namespace cmwq::CMWQ_NS::detail
