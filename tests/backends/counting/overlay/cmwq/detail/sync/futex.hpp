// SPDX-License-Identifier: BSL-1.0
//
// The futex of the counting backend.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <counting/machine.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The kernel of the simulated machine keeps the threads that wait.
struct futex {
    using word = atomic<std::uint32_t>;
    static_assert(sizeof(word) == 4);

    static void wait(word& w, std::uint32_t seen) noexcept { counting::wait_for_word(&w, seen, counting::never); }
    static bool wait_until(word& w, std::uint32_t seen, std::int64_t deadline) noexcept {
        return counting::wait_for_word(&w, seen, deadline);
    }
    static void wake_one(word& w) noexcept { counting::wake_one(&w); }
};

}}} // namespace cmwq::CMWQ_NS::detail
