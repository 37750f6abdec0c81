// SPDX-License-Identifier: BSL-1.0
//
// cpu_map: the CPUs of a runtime: their indices, the machine, and how much of their time the process may use.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/runtime_options.hpp>
#include <cmwq/topology.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Which CPUs a runtime may use: those of the thread that makes it, or those of the main thread of the process.
enum class made_for : bool { caller, process };

/// Each CPU of the runtime has an index, 0 ... nr_cpus() - 1, in the order of the CPU numbers. Any thread may call
/// every member that does not say otherwise. Letters: I set by the constructor · A atomic
class cpu_map {
public:
    /// Throws std::invalid_argument for CPUs that the process may not use, or that the machine does not have; and
    /// std::bad_alloc. `of_caller`: the CPUs that the calling thread may use; null: those to which it is bound.
    cpu_map(const runtime_options& o, made_for whom, const cpuset* of_caller);
    cpu_map(const cpu_map&) = delete;
    cpu_map& operator=(const cpu_map&) = delete;

    [[nodiscard]] unsigned nr_cpus() const noexcept { return static_cast<unsigned>(number_of_.size()); }
    [[nodiscard]] const cpuset& cpus() const noexcept { return cpus_; }
    /// The CPUs that the process may use, as far as they could be determined.
    [[nodiscard]] const cpuset& allowed() const noexcept { return allowed_; }
    /// The number that the operating system gives to the CPU with this index.
    [[nodiscard]] unsigned number_of(unsigned index) const noexcept { return number_of_[index]; }
    /// The index of a CPU; for a negative number, that of the calling thread's CPU. A CPU that does not belong to this
    /// runtime is mapped to the index of another CPU, always the same one.
    [[nodiscard]] CMWQ_HOT_INLINE unsigned index_of(int cpu) const noexcept {
        const std::size_t n = cpu >= 0 ? static_cast<std::size_t>(cpu) : current_cpu();
        if (n < index_of_.size() && index_of_[n] != no_index) return index_of_[n];
        return static_cast<unsigned>(n % number_of_.size());
    }
    [[nodiscard]] cpuset indices_of(const cpuset& cpus) const;
    /// `index` if its CPU is on that node; otherwise the index of a CPU on the node, chosen by `index`, so that callers
    /// are spread. If the runtime has no CPU on the node, `index`. The topology must be loaded.
    [[nodiscard]] unsigned index_on_node(unsigned index, unsigned node) const noexcept;
    /// Whether items can be queued on that CPU. True for any_cpu.
    [[nodiscard]] bool has_cpu(int cpu) const noexcept {
        return cpu < 0 || (static_cast<std::size_t>(cpu) < index_of_.size() &&
                           index_of_[static_cast<std::size_t>(cpu)] != no_index);
    }
    [[nodiscard]] bool has_node(unsigned node) const { return machine().has_node(node); }

    /// The machine with its caches and nodes. Loaded at the first call: programs that only use bound queues never load
    /// it. The caller must hold no lock, unless it is loaded. Throws std::bad_alloc.
    [[nodiscard]] const topology& machine() const CMWQ_EXCLUDES(topology_lock_);
    /// The same if it is loaded, else null. Never waits.
    [[nodiscard]] const topology* machine_if_loaded() const noexcept CMWQ_NO_TSA {
        return topology_known_.load(acquire) ? &*topology_ : nullptr; // [ONCE-1] pairs [ONCE-2]
    }

    /// How many workers keep these CPUs busy: their number, or the quota of CPU time of the process, rounded up, if
    /// that is less. At least one.
    [[nodiscard]] int width_of(const cpuset& pod) const noexcept;
    /// The CPUs whose sentinels watch a pool.
    [[nodiscard]] cpuset sentinel_cpus_of(const pool_spec& spec) const;
    /// Whether the process may use less CPU time than its CPUs have, so that the kernel may stop it for a while.
    [[nodiscard]] bool has_quota() const noexcept { return quota_ < nr_cpus(); }
    /// Whether the quota leaves CPU time for one more worker while `nr_running` run.
    [[nodiscard]] bool quota_admits(int nr_running) const noexcept { return nr_running < quota_; }

    // --- where threads run -------------------------------------------------------------------------------------------

    /// Whether threads are bound to CPUs. False on a simulated machine.
    [[nodiscard]] bool binds_threads() const noexcept { return binds_threads_; }
    /// Changes whenever CPUs have come or gone; odd while some are missing. Threads bind themselves again when it
    /// changes, because the kernel may have widened their masks.
    [[nodiscard]] unsigned binding() const noexcept { return binding_.load(relaxed); }
    /// One caller at a time.
    void binding_changed(bool some_missing) noexcept {
        binding_.store(((binding() | 1) + 1) | (some_missing ? 1u : 0u), relaxed);
    }
    /// The mask to give to a new thread; null: the mask that it inherits is that of the process.
    [[nodiscard]] const cpuset* mask_of_process() const noexcept {
        return leave_inherited_mask_for_.empty() ? nullptr : &leave_inherited_mask_for_;
    }

    [[nodiscard]] mutex& lock_for_fork() noexcept { return topology_lock_; }

private:
    static constexpr unsigned no_index = ~0u;

    void find_allowed(made_for whom, const cpuset* of_caller);

    cpuset allowed_;                  // I
    cpuset cpus_;                     // I
    cpuset leave_inherited_mask_for_; // I
    bool binds_threads_ = true;       // I
    double quota_ = 0;                // I: how many CPUs' time the process may use, or infinity
    const unsigned cache_shard_size_; // I
    std::vector<unsigned> number_of_; // I: by index
    std::vector<unsigned> index_of_;  // I: by number

    mutable ranked_mutex<lock_rank::topology> topology_lock_;
    mutable std::optional<topology> topology_ CMWQ_GUARDED_BY(topology_lock_); // I once it is loaded
    mutable atomic<bool> topology_known_{false};

    alignas(cache_line) atomic<unsigned> binding_{0}; // A: workers read it for each item
};

}}} // namespace cmwq::CMWQ_NS::detail
