// SPDX-License-Identifier: BSL-1.0
//
// biased_mutex: a mutex that one thread, its owner, locks and unlocks with plain loads and stores, as long as no other
// thread needs it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// While the mutex is *biased*, the owner only notes that it is inside. Another thread *revokes* the bias: it takes it
/// back, executes a barrier for all threads, and waits until the owner is outside. Then both use an ordinary mutex.
/// After a number of its own sections the owner takes the bias again; the number doubles if the last bias has not
/// lasted as long, so that revocations are rare, however often other threads come.
///
/// A thread that is blocked outside of the section, for however long, does not delay a revocation: its CPU has executed
/// a barrier when it went on with another thread. [BIAS-1]: either the owner sees that the bias is gone, or the other
/// thread sees that the owner is inside. [BIAS-2]: either the owner sees that the bias is gone, and wakes the other
/// thread, or that thread sees that the owner is outside.
///
/// Thread safety: the owner calls the members with `own`, any thread the others; the owner, too. The threads that call
/// lock() and announce() exclude each other by a lock of their own. A mutex gets another owner if something else orders
/// the two.
///
/// Letters: A atomic · M under mutex_ · O used by the owner
template <lock_rank Rank>
class CMWQ_TSA(capability("mutex")) biased_mutex {
public:
    biased_mutex() noexcept = default;
    biased_mutex(const biased_mutex&) = delete;
    biased_mutex& operator=(const biased_mutex&) = delete;

    enum class locked : bool { by_mutex, by_bias };

    /// unlock_own() needs the result.
    [[nodiscard]] locked lock_own() noexcept CMWQ_ACQUIRE() CMWQ_NO_TSA {
        if (biased_.load(relaxed)) [[likely]] {
            if constexpr (CMWQ_ASSERTS) check_lock_order(Rank);
            inside_.store(1, relaxed);
            process_barrier::here();                // [BIAS-1]
            if (biased_.load(relaxed)) [[likely]] { // [BIAS-1]
                if constexpr (CMWQ_ASSERTS) note_locked(Rank);
                ++nr_sections_;
                return locked::by_bias;
            }
            leave();
        }
        lock_by_mutex();
        return locked::by_mutex;
    }
    void unlock_own(locked how) noexcept CMWQ_RELEASE() CMWQ_NO_TSA {
        if (how == locked::by_mutex) return unlock_by_mutex();
        if constexpr (CMWQ_ASSERTS) note_unlocked(Rank);
        leave();
    }

    void lock() noexcept CMWQ_ACQUIRE() CMWQ_NO_TSA {
        mutex_.lock();
        if (announce()) process_barrier::run(); // [BIAS-1], [BIAS-2]
        // [BIAS-3] acquire, pairs leave().
        while (inside_.load(acquire) != 0) futex::wait(inside_, 1);
    }
    void unlock() noexcept CMWQ_RELEASE() CMWQ_NO_TSA { mutex_.unlock(); }
    /// The first step of a lock(). True: process_barrier::run() must follow before that. So a thread that needs several
    /// mutexes executes one barrier for all.
    [[nodiscard]] bool announce() noexcept {
        if (!biased_.load(relaxed)) return false;
        biased_.store(false, relaxed);
        nr_revocations_.store(nr_revocations_.load(relaxed) + 1, relaxed);
        return true;
    }

    /// Any thread. A snapshot.
    [[nodiscard]] std::uint64_t nr_revocations() const noexcept { return nr_revocations_.load(relaxed); }

private:
    static constexpr std::uint32_t least_sections = process_barrier::worth, most_sections = 128 * least_sections;

    void leave() noexcept {
        inside_.store(0, release);               // [BIAS-3]
        process_barrier::here();                 // [BIAS-2]
        if (!biased_.load(relaxed)) [[unlikely]] // [BIAS-2]
            futex::wake_one(inside_);
    }
    [[gnu::noinline]] void lock_by_mutex() noexcept CMWQ_NO_TSA {
        mutex_.lock();
        if (!was_biased_) return;
        was_biased_ = false;
        wanted_sections_ = nr_sections_ < wanted_sections_ ? std::min(2 * wanted_sections_, most_sections)
                                                           : std::max(wanted_sections_ / 2, least_sections);
        nr_sections_ = 0;
    }
    [[gnu::noinline]] void unlock_by_mutex() noexcept CMWQ_NO_TSA {
        if (++nr_sections_ >= wanted_sections_) {
            nr_sections_ = 0;
            if (process_barrier::is_ready()) {
                was_biased_ = true;
                biased_.store(true, relaxed); // a thread that locks the mutex after this one sees it
            } else {
                process_barrier::want();
            }
        }
        mutex_.unlock();
    }

    atomic<std::uint32_t> inside_{0}; // A: 1: the owner is in a section, or looks whether it may enter one
    atomic<bool> biased_{false};      // A: set by the owner under M
    bool was_biased_ = false;         // O: since the last unlock_by_mutex()
    std::uint32_t nr_sections_ = 0;   // O: with or without the bias, since that has changed
    std::uint32_t wanted_sections_ = least_sections; // O: without the bias, until it comes back
    atomic<std::uint64_t> nr_revocations_{0};        // A: written by threads that call lock() or announce()
    ranked_mutex<Rank> mutex_;
};

/// As scoped_lock, for the owner of a biased_mutex.
template <class Mutex>
class CMWQ_TSA(scoped_lockable) own_lock {
public:
    [[nodiscard]] explicit own_lock(Mutex& m) noexcept CMWQ_ACQUIRE(m) : m_(m), how_(m.lock_own()) {}
    ~own_lock() CMWQ_RELEASE() { m_.unlock_own(how_); }
    own_lock(const own_lock&) = delete;
    own_lock& operator=(const own_lock&) = delete;

private:
    Mutex& m_;
    const typename Mutex::locked how_;
};

}}} // namespace cmwq::CMWQ_NS::detail
