// SPDX-License-Identifier: BSL-1.0
//
// cpu_share: when a thread that works for others has to rest.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread that rests as long as this says uses a tenth of one CPU at most, but for times of work that are longer than
/// a tenth of a second. It counts CPU time, not what a clock shows: a process that was stopped has not worked.
class cpu_share {
public:
    static constexpr std::int64_t shortest_rest = 1'000'000, longest_rest = 1'000'000'000; // nanoseconds

    /// `cpu`: the CPU time of the thread until now. Returns how long it rests now, in nanoseconds; 0: it goes on.
    [[nodiscard]] std::int64_t rest_after(std::int64_t cpu) noexcept {
        debt_ += 9 * (cpu - std::exchange(cpu_, cpu));
        if (debt_ < shortest_rest) return 0; // going to sleep costs time as well
        return std::min(std::exchange(debt_, 0), longest_rest);
    }

private:
    std::int64_t cpu_ = 0;
    std::int64_t debt_ = 0; // for how long it has not rested yet
};

}}} // namespace cmwq::CMWQ_NS::detail
