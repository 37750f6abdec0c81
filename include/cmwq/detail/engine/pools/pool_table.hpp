// SPDX-License-Identifier: BSL-1.0
//
// pool_table: all pools and sentinels of a runtime, by their ids and by CPU.
#pragma once

#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/engine/pools/cpu_record.hpp>
#include <cmwq/detail/engine/pools/pool_registry.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member that does not say otherwise.
///
/// Letters: I set by the constructor
class pool_table final : public pool_finder {
public:
    /// Throws std::bad_alloc.
    pool_table(pool_env& env, std::uint64_t first_pool_id);

    [[nodiscard]] item_pool& pool(std::uint64_t pool_id) noexcept override {
        const std::uint64_t n = pool_id - id();
        if (n >= nr_cpu_pools()) return registry_.named(static_cast<std::size_t>(n - nr_cpu_pools()));
        cpu_record& r = *cpus_[n / nr_pools_of_cpu];
        const std::uint64_t i = n % nr_pools_of_cpu;
        if (i < nr_priorities) return r.pools[i];
        return r.bottom_halves[i - nr_priorities];
    }

    [[nodiscard]] bound_pool& pool_at(unsigned index, priority p) noexcept {
        return cpus_[index]->pools[static_cast<unsigned>(p)];
    }
    [[nodiscard]] bottom_half_pool& bottom_half_at(unsigned index, priority p) noexcept {
        return cpus_[index]->bottom_halves[static_cast<unsigned>(p)];
    }
    void arm_sentinel(unsigned index) noexcept override { cpus_[index]->idle_thread.arm(); }
    [[nodiscard]] bool sentinel_works(unsigned index) const noexcept override {
        return cpus_[index]->idle_thread.works();
    }
    /// The pools that are shared by queues with equal attributes.
    [[nodiscard]] pool_registry& shared() noexcept { return registry_; }
    [[nodiscard]] const pool_registry& shared() const noexcept { return registry_; }

    /// Calls f(item_pool&) for every pool with workers.
    template <class F>
    void for_each_pool(F&& f) const {
        for (const auto& r : cpus_) {
            for (bound_pool& p : r->pools) f(p);
        }
        for (std::size_t i = 0, n = registry_.size(); i < n; ++i) f(registry_.at(i));
    }
    template <class F>
    void for_each_bottom_half(F&& f) const {
        for (const auto& r : cpus_) {
            for (bottom_half_pool& p : r->bottom_halves) f(p);
        }
    }
    /// Calls f(cpu_record&) for every CPU, by index.
    template <class F>
    void for_each_cpu(F&& f) const {
        for (const auto& r : cpus_) f(*r);
    }
    [[nodiscard]] bool anything_pending() const noexcept;

    [[nodiscard]] std::uint64_t id_of_runner(const work_base& w, std::uint64_t none) const noexcept override;
    void thread_leaves(worker& w) noexcept override {
        static_cast<void>(leaving_.push(w));
        requests_.wake_manager();
    }
    /// For the manager thread.
    [[nodiscard]] inbox<worker, idle_tag>& leaving() noexcept { return leaving_; }

    /// ~runtime() calls this: ends and joins all threads of the pools and CPUs.
    void end_threads() noexcept;
    /// Called in a forked child, where the threads do not exist.
    void forget_threads() noexcept;

private:
    [[nodiscard]] std::uint64_t nr_cpu_pools() const noexcept { return cpus_.size() * nr_pools_of_cpu; }

    cpu_records cpus_; // I
    pool_registry registry_;
    service_requests& requests_;      // I
    inbox<worker, idle_tag> leaving_; // workers whose threads are about to end
};

}}} // namespace cmwq::CMWQ_NS::detail
