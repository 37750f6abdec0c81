// SPDX-License-Identifier: BSL-1.0
//
// The places in the code that cause transfers, locked operations and lock waits.
#pragma once

#include <counting/machine.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

/// The counts of one place in one phase.
struct site {
    phase in = phase::rest;
    std::uint64_t transfers = 0, locked = 0, lock_waits = 0;
    std::uint64_t lines = 0; ///< how often it was the first access to a line in a step
    std::string place;       ///< file and line, innermost first
};

/// The sites of the last measurement with the most transfers, and those with the most locked operations, at most `n` of
/// each, without doubles. Names the places by addr2line; without it `place` has the address.
[[nodiscard]] std::vector<site> top_sites(std::size_t n);

}}} // namespace cmwq::CMWQ_NS::detail::counting
