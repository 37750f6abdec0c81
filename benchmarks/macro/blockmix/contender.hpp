// SPDX-License-Identifier: BSL-1.0
//
// Items that compute, block and compute again. The number of outstanding items is constant.
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
    bool external;            ///< true: one thread outside the pool queues every item; false: each item queues the next
    bench::cpu_burner burner;

    void compute() const noexcept { burner(burn); }

    void block() const noexcept {
        const timespec t{0, static_cast<long>(sleep.count())};
        ::nanosleep(&t, nullptr);
    }

    /// Whether the item with this ticket blocks. The blocking items are spread evenly over all tickets.
    [[nodiscard]] bool blocks(std::uint32_t ticket) const noexcept {
        return (ticket * 2654435761u >> 8) % 100 < blocked_percent;
    }
};

/// The state that the items of one run share.
struct progress {
    alignas(64) std::atomic<std::uint64_t> started{0}; ///< items passed to the pool
    alignas(64) std::atomic<std::uint64_t> done{0};
    alignas(64) std::atomic<bool> stop{false};
};

class submitter;

/// The items of one run, independent of the pool. `start(i)` makes the pool call `run(i)` once, at some later time.
class items {
public:
    items(const load& l, progress& p, std::function<void(unsigned)> start);
    ~items();
    items(const items&) = delete;
    items& operator=(const items&) = delete;

    /// Starts all items. Call it when the pool is ready.
    void begin();
    /// The body of an item. `around` calls the function that blocks, and may announce the block to the pool.
    template <class Block>
    void run(unsigned i, Block&& around) {
        const std::uint32_t ticket = tickets_.fetch_add(1, std::memory_order_relaxed);
        load_.compute();
        if (load_.blocks(ticket)) around([this] { load_.block(); });
        load_.compute();
        progress_.done.fetch_add(1, std::memory_order_relaxed);
        if (!progress_.stop.load(std::memory_order_relaxed)) again(i);
    }
    /// Call it after `progress::stop` was set. After the return, only items that still run call `start`.
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
    /// Waits until no item runs. Call it after `progress::stop` was set.
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
