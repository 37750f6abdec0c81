// SPDX-License-Identifier: BSL-1.0
//
// mutex: four bytes, futex based, known to clang's thread safety analysis. The engine's critical sections are tens of
// nanoseconds long and its workers share a CPU with whom they compete, so there is hardly any spinning.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#else

#include <cmwq/detail/os/futex.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class CMWQ_TSA(capability("mutex")) mutex {
public:
    mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept CMWQ_ACQUIRE() {
        std::uint32_t seen = open;
        // [MTX-1] acquire, pairs [MTX-2].
        if (!word_.compare_exchange_strong(seen, held, acquire, relaxed)) lock_contended();
    }

    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) {
        std::uint32_t seen = open;
        return word_.compare_exchange_strong(seen, held, acquire, relaxed); // [MTX-1]
    }

    void unlock() noexcept CMWQ_RELEASE() {
        // [MTX-2] release, pairs [MTX-1].
        if (word_.exchange(open, release) == contended) os::futex_wake_one(word_);
    }

private:
    static constexpr std::uint32_t open = 0, held = 1, contended = 2;

    void lock_contended() noexcept {
        for (int i = 0; i < 32; ++i) {
            std::uint32_t seen = open;
            if (word_.load(relaxed) == open && word_.compare_exchange_strong(seen, held, acquire, relaxed)) return;
            cpu_relax();
        }
        while (word_.exchange(contended, acquire) != open) os::futex_wait(word_, contended); // [MTX-1]
    }

    os::futex_word word_{open};
};

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
