// SPDX-License-Identifier: BSL-1.0
//
// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace cmwq_test {

/// Calls `call()` again as long as a signal has made it return -1.
template <class Call>
auto uninterrupted(Call call) {
    for (;;) {
        const auto r = call();
        if (r != -1 || errno != EINTR) return r;
    }
}

} // namespace cmwq_test
