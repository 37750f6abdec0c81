// SPDX-License-Identifier: BSL-1.0
//
// The futex system call, private to the process.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cerrno>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The operations of the futex system call that parker and mutex need. Any thread may call them.
struct futex {
    using word = atomic<std::uint32_t>;
    static_assert(sizeof(word) == 4);

#ifdef SYS_futex_time64 // on 32-bit machines: the call whose times have 64 bits, however the program was compiled
    static constexpr long number = SYS_futex_time64;
#else
    static constexpr long number = SYS_futex;
    static_assert(sizeof(long) == 8);
#endif

    /// Sleeps while `w` holds `seen`. May return early (signals, spurious wake-ups): the caller checks again.
    static void wait(word& w, std::uint32_t seen) noexcept {
        ::syscall(number, &w, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }

    /// As wait(), with an absolute CLOCK_MONOTONIC deadline in nanoseconds. False: the deadline has passed.
    static bool wait_until(word& w, std::uint32_t seen, std::int64_t deadline) noexcept {
        const struct { // the kernel's own form, the same for both calls
            std::int64_t seconds, nanoseconds;
        } time{deadline / 1'000'000'000, deadline % 1'000'000'000};
        const long r = ::syscall(number, &w, FUTEX_WAIT_BITSET_PRIVATE, seen, &time, nullptr, FUTEX_BITSET_MATCH_ANY);
        return !(r == -1 && errno == ETIMEDOUT);
    }

    static void wake_one(word& w) noexcept { ::syscall(number, &w, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }
};

}}} // namespace cmwq::CMWQ_NS::detail::os
