// SPDX-License-Identifier: BSL-1.0
//
// ranked_mutex: a mutex with a place in the order of locks, and scoped_lock.
#pragma once

#include <cmwq/detail/sync/lock_rank.hpp>
#include <cmwq/detail/sync/plain_mutex.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// A mutex with a place in the order of locks. Its type says it, so that it takes no room, and no time without
/// assertions.
template <lock_rank Rank>
class CMWQ_TSA(capability("mutex")) ranked_mutex : public mutex {
public:
    void lock() noexcept CMWQ_ACQUIRE() CMWQ_NO_TSA {
        if constexpr (CMWQ_ASSERTS) check_lock_order(Rank);
        mutex::lock();
        if constexpr (CMWQ_ASSERTS) note_locked(Rank);
    }
    /// In any order: who does not wait is not waited for.
    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) CMWQ_NO_TSA {
        const bool got_it = mutex::try_lock();
        if constexpr (CMWQ_ASSERTS) {
            if (got_it) note_locked(Rank);
        }
        return got_it;
    }
    void unlock() noexcept CMWQ_RELEASE() CMWQ_NO_TSA {
        if constexpr (CMWQ_ASSERTS)
            note_unlocked(Rank); // before: the mutex may be gone afterwards, and this thread too
        mutex::unlock();
    }
};

/// For a `scoped_lock` that takes over what a `try_lock()` got.
struct adopt_lock_t {};
inline constexpr adopt_lock_t adopt_lock{};

template <class Mutex>
class CMWQ_TSA(scoped_lockable) scoped_lock {
public:
    [[nodiscard]] explicit scoped_lock(Mutex& m) noexcept CMWQ_ACQUIRE(m) : m_(m) { m_.lock(); }
    scoped_lock(Mutex& m, adopt_lock_t) noexcept CMWQ_REQUIRES(m) : m_(m) {}
    ~scoped_lock() CMWQ_RELEASE() { m_.unlock(); }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

private:
    Mutex& m_;
};

} // namespace cmwq::inline CMWQ_NS::detail
