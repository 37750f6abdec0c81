// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>

namespace bench {

/// The time since its construction.
class stopwatch {
public:
    [[nodiscard]] double ns() const noexcept { return elapsed<std::nano>(); }
    [[nodiscard]] double us() const noexcept { return elapsed<std::micro>(); }
    [[nodiscard]] double ms() const noexcept { return elapsed<std::milli>(); }

private:
    template <class Unit>
    [[nodiscard]] double elapsed() const noexcept {
        return std::chrono::duration<double, Unit>(std::chrono::steady_clock::now() - begin_).count();
    }

    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace bench
