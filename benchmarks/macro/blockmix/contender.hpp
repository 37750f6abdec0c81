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
    unsigned blocked_percent; ///< this share of the items sleeps, the others only compute
    bool external;            ///< one thread outside of the pool hands in every item; else each item the next one
    bench::cpu_burner burner;

    void compute() const noexcept { burner(burn); }

    void block() const noexcept {
        const timespec t{0, static_cast<long>(sleep.count())};
        ::nanosleep(&t, nullptr);
    }

    /// Spreads the blocking items evenly over all that were ever started.
    [[nodiscard]] bool blocks(std::uint32_t ticket) const noexcept {
        return (ticket * 2654435761u >> 8) % 100 < blocked_percent;
    }
};

/// What the items of one run share.
struct progress {
    alignas(64) std::atomic<std::uint64_t> done{0};
    alignas(64) std::atomic<bool> stop{false};
};

class submitter;

/// The items of one run, whatever pool runs them: `start(i)` makes it call `run(i)` once, sometime.
class items {
public:
    items(const load& l, progress& p, std::function<void(unsigned)> start);
    ~items();
    items(const items&) = delete;
    items& operator=(const items&) = delete;

    /// Starts all of them. When the pool is ready.
    void begin();
    /// The body of an item. `Block` is how the pool wants to be told, if at all.
    template <class Block>
    void run(unsigned i, Block&& around) {
        const std::uint32_t ticket = tickets_.fetch_add(1, std::memory_order_relaxed);
        load_.compute();
        if (load_.blocks(ticket)) around([this] { load_.block(); });
        load_.compute();
        progress_.done.fetch_add(1, std::memory_order_relaxed);
        if (!progress_.stop.load(std::memory_order_relaxed)) again(i);
    }
    /// After `progress::stop`: from the return on nobody calls `start` but items that still run.
    void end();

private:
    void again(unsigned i);

    const load& load_;
    progress& progress_;
    std::function<void(unsigned)> start_;
    std::unique_ptr<submitter> outside_;
    alignas(64) std::atomic<std::uint32_t> tickets_{0};
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
[[nodiscard]] contender elastic_contender();
[[nodiscard]] contender asio_contender(unsigned threads);

} // namespace blockmix
