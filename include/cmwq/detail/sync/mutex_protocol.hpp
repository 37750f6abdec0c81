// SPDX-License-Identifier: BSL-1.0
//
// The protocol of a mutex, as a template over the futex: the futex of the system, or a model of it in a search.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/cpu_relax.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The thread that unlocks does not use the object after another thread can lock it, except to wake by its address. So
/// the thread that locks it next may destroy it after its own unlock.
template <class Futex>
class CMWQ_TSA(capability("mutex")) basic_mutex {
public:
    basic_mutex() noexcept = default;
    basic_mutex(const basic_mutex&) = delete;
    basic_mutex& operator=(const basic_mutex&) = delete;

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
        if (word_.exchange(open, release) == contended) Futex::wake_one(word_);
    }

private:
    static constexpr std::uint32_t open = 0, held = 1, contended = 2;

    void lock_contended() noexcept {
        for (int i = 0; i < 32; ++i) {
            std::uint32_t seen = open;
            // [MTX-1]
            if (word_.load(relaxed) == open && word_.compare_exchange_strong(seen, held, acquire, relaxed)) return;
            cpu_relax();
        }
        while (word_.exchange(contended, acquire) != open) Futex::wait(word_, contended); // [MTX-1]
    }

    atomic<std::uint32_t> word_{open};
};

}}} // namespace cmwq::CMWQ_NS::detail
