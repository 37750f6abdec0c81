// SPDX-License-Identifier: BSL-1.0
//
// The backoff of the counting backend.
#pragma once

#include <cmwq/detail/base/cpu_relax.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A local variable of one wait loop. It waits as that of the library does, in virtual time.
class backoff {
public:
    void pause() noexcept {
        if (round_ < 8) {
            for (int i = 0; i < (1 << round_); ++i) cpu_relax();
        } else {
            const int shift = round_ < 13 ? round_ - 8 : 5;
            counting::sleep(20'000L << shift);
        }
        ++round_;
    }

private:
    int round_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
