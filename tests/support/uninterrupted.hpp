// SPDX-License-Identifier: BSL-1.0
//
// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace cmwq_test {

/// Repeats `call()` as long as a signal interrupts it, that is, as long as it returns -1 with EINTR.
template <class Call>
auto uninterrupted(Call call) {
    for (;;) {
        const auto r = call();
        if (r != -1 || errno != EINTR) return r;
    }
}

} // namespace cmwq_test
