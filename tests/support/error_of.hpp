// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <system_error>

namespace cmwq_test {

/// Returns the code of the std::system_error that `f` throws; no error if it throws none.
template <class F>
std::error_code error_of(F f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

} // namespace cmwq_test
