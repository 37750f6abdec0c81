// SPDX-License-Identifier: BSL-1.0
//
// The futex system call, private to the process.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The operations of the futex system call that parker and mutex need. Any thread may call them.
struct futex {
    using word = atomic<std::uint32_t>;
    static_assert(sizeof(word) == 4);

    /// Sleeps while `w` holds `seen`. May return early (signals, spurious wake-ups): the caller checks again.
    static void wait(word& w, std::uint32_t seen) noexcept {
        ::syscall(SYS_futex, &w, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }

    /// As wait(), with an absolute CLOCK_MONOTONIC deadline in nanoseconds. False: the deadline has passed.
    static bool wait_until(word& w, std::uint32_t seen, std::int64_t deadline) noexcept {
        timespec ts{};
        ts.tv_sec = static_cast<std::time_t>(deadline / 1'000'000'000);
        ts.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
        const long r = ::syscall(SYS_futex, &w, FUTEX_WAIT_BITSET_PRIVATE, seen, &ts, nullptr, FUTEX_BITSET_MATCH_ANY);
        return !(r == -1 && errno == ETIMEDOUT);
    }

    static void wake_one(word& w) noexcept { ::syscall(SYS_futex, &w, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }
};

}}} // namespace cmwq::CMWQ_NS::detail::os
