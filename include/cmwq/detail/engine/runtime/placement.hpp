// SPDX-License-Identifier: BSL-1.0
//
// placement: decides which pools serve a queue, and changes this when the attributes of the queue or the present CPUs
// change.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <array>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// What to do if none of the CPUs that a queue names can be used.
enum class without_cpus : bool { refuse, use_all };

/// Owns the configuration lock, the unbound CPUs and the default scope of a runtime. Any thread may call every member
/// that does not say otherwise.
///
/// Letters: I set by the constructor · CF under lock_
class placement {
public:
    /// Throws std::invalid_argument if the options leave no unbound CPU, and std::bad_alloc.
    placement(const pool_env& env, queue_list& queues);
    placement(const placement&) = delete;
    placement& operator=(const placement&) = delete;

    /// The configuration lock. While it is held, no queue changes its pools.
    [[nodiscard]] ranked_mutex<lock_rank::configuration>& lock() const noexcept CMWQ_TSA(lock_returned(lock_)) {
        return lock_;
    }

    /// The pools that serve a queue with these attributes; each CPU of the runtime is served by one. The configuration
    /// lock is held. Throws std::invalid_argument or std::bad_alloc.
    [[nodiscard]] chosen_pools choose_pools(const queue_face& q, const attrs& a, without_cpus what) const CMWQ_NO_TSA;
    /// Prepares a change of the queue to these attributes. The configuration lock is held. Throws std::invalid_argument
    /// or std::bad_alloc, and changes nothing then.
    [[nodiscard]] queue_plan plan(queue_core& q, const attrs& wanted, without_cpus what) const {
        return q.changes.plan(wanted, choose_pools(q, wanted, what));
    }
    /// Gives `q` the pools for new attributes. Throws std::invalid_argument or std::bad_alloc, and changes nothing
    /// then.
    void apply(queue_core& q, const attrs& a) CMWQ_EXCLUDES(lock_);
    /// The same, while the configuration lock is held.
    void apply_locked(queue_core& q, const attrs& a) CMWQ_REQUIRES(lock_) {
        q.changes.carry_out(plan(q, a, without_cpus::refuse));
    }

    void set_unbound_cpus(const cpuset& cpus) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] cpuset unbound_cpus() const CMWQ_EXCLUDES(lock_);
    void set_default_scope(affinity_scope scope) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] affinity_scope default_scope() const CMWQ_EXCLUDES(lock_);
    [[nodiscard]] affinity_scope default_scope_locked() const noexcept CMWQ_REQUIRES(lock_) { return default_scope_; }

    /// For dump(): copies both. False: another thread held the lock until `deadline`, steady clock. Throws
    /// std::bad_alloc.
    [[nodiscard]] bool report(cpuset& unbound, affinity_scope& scope, std::int64_t deadline) const CMWQ_EXCLUDES(lock_);

    // --- CPUs that come and go ---------------------------------------------------------------------------------------

    /// Checks which CPUs are present, and adapts pools and queues if they have changed. Throws std::bad_alloc.
    void check_cpus() CMWQ_EXCLUDES(lock_);
    /// For the manager thread: the same, and if `and_helpers`, binds the helpers to the unbound CPUs, which may have
    /// changed. False: another thread holds the lock.
    [[nodiscard]] bool try_check_cpus(bool and_helpers) CMWQ_EXCLUDES(lock_);
    /// The threads of the runtime that run no items use only the CPUs that unbound items may use.
    enum class helper : unsigned char { service, manager, diagnosis, reports };
    /// Each of these threads calls this when it begins.
    void helper_began(helper which) noexcept CMWQ_EXCLUDES(lock_);

private:
    void check_cpus_locked(if_busy then) CMWQ_REQUIRES(lock_);
    void bind_helpers_locked() noexcept CMWQ_REQUIRES(lock_);
    void share_quota(std::vector<pool_choice>& choices, bool strict) const;
    void serve_other_cpus(std::vector<pool_choice>& choices) const;
    // Gives every attribute-keyed queue the pools for the current settings. `then`: as queue_changes::carry_out().
    void remap_locked(if_busy then) CMWQ_REQUIRES(lock_);
    [[nodiscard]] cpuset usable_now_locked() CMWQ_REQUIRES(lock_);
    /// The numbers of the helpers' threads; 0: the thread has not begun yet.
    using helper_tids = std::array<long, 4>;
    [[nodiscard]] helper_tids tids_of_helpers() const noexcept;

    const pool_env& env_;                                 // I
    queue_list& queues_;                                  // I
    std::array<atomic<long>, 4> tids_{};                  // of the helpers
    mutable ranked_mutex<lock_rank::configuration> lock_; // CF
    cpuset unbound_cpus_ CMWQ_GUARDED_BY(lock_);
    cpuset usable_ CMWQ_GUARDED_BY(lock_); // the CPUs of the runtime that are present
    affinity_scope default_scope_ CMWQ_GUARDED_BY(lock_);
    cpuset helper_cpus_ CMWQ_GUARDED_BY(lock_); // the helpers are bound to these; empty: not bound
    bool helpers_were_bound_ CMWQ_GUARDED_BY(lock_) = false;
    helper_tids bound_tids_ CMWQ_GUARDED_BY(lock_) = {}; // the threads that were bound last
};

}}} // namespace cmwq::CMWQ_NS::detail
