// SPDX-License-Identifier: BSL-1.0
//
// The refusal of waiting calls in bottom halves.
#pragma once

#include <cmwq/detail/engine/pool/bottom_halves.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>

#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Throws std::system_error(operation_not_permitted) if the calling thread runs a bottom half, even if the call would
/// not have to wait now. `what` and `of()` name the call in the message.
template <class Of>
void refuse_in_bottom_half(const char* what, const Of& of) {
    if (bottom_half_here() == nullptr) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("cmwq: ") + what + of() + " in " + describe_own_run() +
                                ", a bottom half, which must not wait");
}

inline void refuse_in_bottom_half(const char* what) {
    refuse_in_bottom_half(what, [] { return std::string(); });
}

}}} // namespace cmwq::CMWQ_NS::detail
