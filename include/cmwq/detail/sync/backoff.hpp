// SPDX-License-Identifier: BSL-1.0
//
// backoff: waits for another thread that is between two steps of a protocol: for some nanoseconds if that thread runs,
// longer if it was preempted there. It spins only for a short time, because the other thread may need the CPU.
#pragma once

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/os/clock.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A local variable of one wait loop.
class backoff {
public:
    /// Waits for a moment, longer each time. The caller then checks its condition again.
    void pause() noexcept {
        if (round_ < 8) {
            for (int i = 0; i < (1 << round_); ++i) cpu_relax();
        } else {
            // Sleeps instead of yielding, because a yield does not let a thread of lower priority run.
            const int shift = round_ < 13 ? round_ - 8 : 5;
            os::sleep_for(20'000L << shift);
        }
        ++round_;
    }

private:
    int round_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
