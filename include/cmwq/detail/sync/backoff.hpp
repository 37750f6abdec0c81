// SPDX-License-Identifier: BSL-1.0
//
// backoff: waits for another thread that is between two steps of a protocol, a few nanoseconds if it runs, longer if
// it was preempted there. It never spins for long and never burns a CPU that the other one may need.
#pragma once

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/os/clock.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class backoff {
public:
    void pause() noexcept {
        if (round_ < 8) {
            for (int i = 0; i < (1 << round_); ++i) cpu_relax();
        } else {
            // Sleeping, not yielding: a yield does not let a thread of lower priority run.
            const int shift = round_ < 13 ? round_ - 8 : 5;
            os::sleep_for(20'000L << shift);
        }
        ++round_;
    }

private:
    int round_ = 0;
};

} // namespace cmwq::inline CMWQ_NS::detail
