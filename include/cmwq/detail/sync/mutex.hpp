// SPDX-License-Identifier: BSL-1.0
//
// ranked_mutex: a mutex with a place in the order of locks, and scoped_lock.
#pragma once

#include <cmwq/detail/sync/lock_rank.hpp>
#include <cmwq/detail/sync/plain_mutex.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A mutex with a place in the order of locks. The rank is part of the type, so it needs no memory, and no time in
/// builds without assertions.
template <lock_rank Rank>
class CMWQ_TSA(capability("mutex")) ranked_mutex : public mutex {
public:
    void lock() noexcept CMWQ_ACQUIRE() CMWQ_NO_TSA {
        if constexpr (CMWQ_ASSERTS) check_lock_order(Rank);
        mutex::lock();
        if constexpr (CMWQ_ASSERTS) note_locked(Rank);
    }
    /// Allowed in any order, because a thread that does not wait cannot be part of a deadlock.
    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) CMWQ_NO_TSA {
        const bool got_it = mutex::try_lock();
        if constexpr (CMWQ_ASSERTS) {
            if (got_it) note_locked(Rank);
        }
        return got_it;
    }
    void unlock() noexcept CMWQ_RELEASE() CMWQ_NO_TSA {
        if constexpr (CMWQ_ASSERTS) note_unlocked(Rank); // first: after the unlock the mutex may be gone
        mutex::unlock();
    }
};

/// For a `scoped_lock` of a mutex that a `try_lock()` has locked.
struct adopt_lock_t {};
inline constexpr adopt_lock_t adopt_lock{};

/// As std::scoped_lock, for one mutex, and known to clang's thread safety analysis.
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

}}} // namespace cmwq::CMWQ_NS::detail
