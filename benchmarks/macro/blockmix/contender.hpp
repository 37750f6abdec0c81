// SPDX-License-Identifier: BSL-1.0
//
// Items that compute, block and compute again, always the same number of them outstanding.
#pragma once

#include "support/burn.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <time.h>

namespace blockmix {

struct load {
    std::chrono::nanoseconds burn;
    std::chrono::nanoseconds sleep;
    unsigned outstanding;
    bench::cpu_burner burner;

    void compute() const noexcept { burner(burn); }

    void block() const noexcept {
        const timespec t{0, static_cast<long>(sleep.count())};
        ::nanosleep(&t, nullptr);
    }
};

/// What the items of one run share.
struct progress {
    alignas(64) std::atomic<std::uint64_t> done{0};
    alignas(64) std::atomic<bool> stop{false};
};

/// A pool under load, from its construction until `finish`.
class running {
public:
    virtual ~running() = default;
    /// Returns when no item runs any more; `progress::stop` was set before.
    virtual void finish() = 0;
    [[nodiscard]] virtual unsigned peak_threads() const = 0;
};

struct contender {
    std::string name;
    std::function<std::unique_ptr<running>(const load&, progress&)> start;
};

[[nodiscard]] contender cmwq_contender(bool annotated);
[[nodiscard]] contender asio_contender(unsigned threads);

} // namespace blockmix
