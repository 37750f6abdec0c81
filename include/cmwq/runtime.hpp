// SPDX-License-Identifier: BSL-1.0
//
// runtime: owner of the pools and their threads. The only public header that compiles the engine.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/stats.hpp>
#include <cmwq/workqueue.hpp>

#include <memory>

namespace cmwq::inline CMWQ_NS {

namespace detail {
class runtime_core;
}

/// Owns the pools, the timers and every thread of the queues that are made on it. Most programs use `global()`, which
/// queues take by themselves.
///
/// Threads: one service thread; for each CPU on which an item was ever queued an idle-class sentinel and, for each
/// priority used there, at least two workers. While nothing is pending none of them makes a system call.
///
/// All members may be called from any thread.
class runtime {
public:
    /// Errors: std::invalid_argument for impossible options, std::system_error if no thread can be made,
    /// std::bad_alloc.
    explicit runtime(runtime_options options = {});
    /// Ends and joins all threads. Its queues are destroyed before; one that is left terminates the program, with its
    /// name on stderr. Blocks until queues have drained that were destroyed by their own items.
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// The process-wide runtime, made on first use with default options, and never destroyed. A forked child makes a
    /// new one. Errors: as the constructor.
    [[nodiscard]] static runtime& global();

    /// The CPUs that have pools.
    [[nodiscard]] const cpuset& cpus() const noexcept;

    /// Counters over all queues, taken pool by pool.
    [[nodiscard]] runtime_stats stats() const noexcept;

    [[nodiscard]] detail::runtime_core& core() const noexcept { return *core_; } ///< for the engine

private:
    std::unique_ptr<detail::runtime_core> core_;
};

} // namespace cmwq::inline CMWQ_NS

#include <cmwq/detail/engine/engine.ipp>
