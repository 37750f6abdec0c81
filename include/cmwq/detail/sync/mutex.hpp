// SPDX-License-Identifier: BSL-1.0
//
// mutex: four bytes, futex based, known to clang's thread safety analysis. The engine's critical sections are tens of
// nanoseconds long and its workers share a CPU with whom they compete, so there is hardly any spinning.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#else

#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex_protocol.hpp>

namespace cmwq::inline CMWQ_NS::detail {

using mutex = basic_mutex<futex>;

} // namespace cmwq::inline CMWQ_NS::detail

#endif

namespace cmwq::inline CMWQ_NS::detail {

class CMWQ_TSA(scoped_lockable) scoped_lock {
public:
    [[nodiscard]] explicit scoped_lock(mutex& m) noexcept CMWQ_ACQUIRE(m) : m_(m) { m_.lock(); }
    ~scoped_lock() CMWQ_RELEASE() { m_.unlock(); }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

private:
    mutex& m_;
};

} // namespace cmwq::inline CMWQ_NS::detail
