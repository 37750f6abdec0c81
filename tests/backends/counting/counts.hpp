// SPDX-License-Identifier: BSL-1.0
//
// The results of a measurement on the simulated machine.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

struct counts {
    std::uint64_t accesses = 0;    ///< all reads and writes, by plain code and by atomics
    std::uint64_t locked = 0;      ///< atomic read-modify-writes, also failed ones, and seq_cst stores
    std::uint64_t transfers = 0;   ///< accesses that had to wait for the cache of another CPU
    std::uint64_t upgrades = 0;    ///< those of them that found the line, and had to invalidate it in other caches
    std::uint64_t lines = 0;       ///< different lines in each step of a thread, without those of its own stack
    std::uint64_t locks = 0;       ///< mutexes locked
    std::uint64_t lock_waits = 0;  ///< those of them that another thread held
    std::uint64_t lock_ns = 0;     ///< virtual time of these waits
    std::uint64_t sleeps = 0;      ///< waits in the kernel
    std::uint64_t wakes = 0;       ///< system calls that wake a thread
    std::uint64_t barriers = 0;    ///< barriers for all threads
    std::uint64_t allocations = 0; ///< calls of operator new

    void add(const counts& o) noexcept {
        accesses += o.accesses;
        locked += o.locked;
        transfers += o.transfers;
        upgrades += o.upgrades;
        lines += o.lines;
        locks += o.locks;
        lock_waits += o.lock_waits;
        lock_ns += o.lock_ns;
        sleeps += o.sleeps;
        wakes += o.wakes;
        barriers += o.barriers;
        allocations += o.allocations;
    }
    friend bool operator==(const counts&, const counts&) = default;
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
