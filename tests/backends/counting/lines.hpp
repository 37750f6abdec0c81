// SPDX-License-Identifier: BSL-1.0
//
// The cache lines of the simulated machine.
#pragma once

#include <counting/machine.hpp>

#include <array>
#include <cstddef>
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

    line& at(std::uintptr_t address) {
        const std::uintptr_t number = address >> shift, page_number = number / lines_of_page;
        recent_page& r = recent_[page_number % recent_.size()];
        if (r.found == nullptr || r.number != page_number) r = {page_number, &pages_[page_number]};
        return (*r.found)[number % lines_of_page];
    }

    /// The result of an access by that CPU, with which the state of the line changes.
    static access_result access(line& l, unsigned cpu, bool write) noexcept {
        const bool held = l.holders.test(cpu);
        if (held && (!write || l.holders == cpu_mask().set(cpu))) return access_result::hit;
        const bool elsewhere = l.holders.any();
        if (write) l.holders.reset();
        l.holders.set(cpu);
        return held ? access_result::upgrade : elsewhere ? access_result::transfer : access_result::first_touch;
    }

private:
    static constexpr std::size_t lines_of_page = 64;
    using page = std::array<line, lines_of_page>;
    /// Each access looks for its line, so the pages that were found last have a table without probing.
    struct recent_page {
        std::uintptr_t number = 0;
        page* found = nullptr;
    };

    std::unordered_map<std::uintptr_t, page> pages_;
    std::array<recent_page, 1024> recent_{};
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
