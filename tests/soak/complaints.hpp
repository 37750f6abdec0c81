// SPDX-License-Identifier: BSL-1.0
//
// The errors that the checks have found.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace soak {

class complaints {
public:
    /// Prints the first complaints at once, because the program may crash later.
    void add(std::string_view what, std::string_view where = {});
    void expect(bool holds, std::string_view what, std::string_view where = {}) {
        if (!holds) add(what, where);
    }
    /// The same for two counts that must be equal.
    void expect_equal(std::uint64_t a, std::uint64_t b, std::string_view what, std::string_view where = {});
    [[nodiscard]] std::uint64_t count() const { return nr_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> nr_{0};
};

} // namespace soak
