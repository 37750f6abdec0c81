// SPDX-License-Identifier: BSL-1.0
//
// The cache lines of the simulated machine.
#pragma once

#include <counting/machine.hpp>

#include <cstdint>
#include <unordered_map>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

/// A line of 64 bytes, with the caches that hold it. With one holder the line is exclusive or modified there: a write
/// needs no other cache. With several it is shared.
struct line {
    cpu_mask holders;
    std::int64_t busy_until = 0; ///< transfers of a line follow each other
};

enum class access_result : unsigned char { hit, first_touch, transfer, upgrade };

/// The caches of all CPUs: as many lines as they need, so none is ever evicted.
class lines {
public:
    static constexpr unsigned shift = 6;

    line& at(std::uintptr_t address) { return all_[address >> shift]; }

    /// The result of an access by that CPU, with which the state of the line changes.
    static access_result access(line& l, unsigned cpu, bool write) noexcept {
        const bool held = l.holders.test(cpu);
        if (held && (!write || l.holders.count() == 1)) return access_result::hit;
        const bool elsewhere = l.holders.any();
        if (write) l.holders.reset();
        l.holders.set(cpu);
        return held ? access_result::upgrade : elsewhere ? access_result::transfer : access_result::first_touch;
    }

private:
    std::unordered_map<std::uintptr_t, line> all_;
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
