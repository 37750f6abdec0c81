// SPDX-License-Identifier: BSL-1.0
//
// Values of enumerations that a program has cast together are refused where they come in: behind that they choose pools.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/detail/engine_ops.hpp>

#include <stdexcept>
#include <string>

namespace cmwq::inline CMWQ_NS::detail {

/// Throws std::invalid_argument unless `value` is one of the enumerators, which are numbered from 0 to that of `last`.
template <class E>
void check_enumerator(E value, E last, const char* what) {
    const auto number = static_cast<unsigned>(value);
    if (number <= static_cast<unsigned>(last)) return;
    throw std::invalid_argument(std::string("cmwq: ") + what + " is " + std::to_string(number) +
                                ", which is none of its values; the last one is " +
                                std::to_string(static_cast<unsigned>(last)));
}

inline void check_scope(affinity_scope scope) {
    check_enumerator(scope, affinity_scope::default_, "the affinity_scope");
}

/// What is wrong with attributes on whatever machine.
inline void check_attrs(const attrs& a) {
    if (a.nice() < -20 || a.nice() > 19) {
        throw std::invalid_argument("cmwq: nice is " + std::to_string(a.nice()) + ", it must be -20 to 19");
    }
    check_enumerator(a.scheduling(), scheduling::fifo, "the scheduling class");
    check_scope(a.affinity());
}

} // namespace cmwq::inline CMWQ_NS::detail
