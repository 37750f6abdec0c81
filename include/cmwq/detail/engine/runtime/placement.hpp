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

#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One pool of those that serve a queue, and the CPUs whose callers it serves.
struct pool_choice {
    pool_spec spec;
    std::vector<unsigned> indices; ///< of those CPUs
};

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

    /// Returns the pools for `plan.wanted`, and sets the CPUs in `plan`. The configuration lock is held. If none of the
    /// wanted CPUs can be used, throws std::invalid_argument, or takes all usable unbound CPUs if `lenient`. Throws
    /// std::bad_alloc.
    [[nodiscard]] std::vector<pool_choice> choose_pools(queue_plan& plan, bool lenient) const CMWQ_NO_TSA;
    /// Gives `q` the pools for new attributes. Throws std::invalid_argument or std::bad_alloc, and changes nothing
    /// then.
    void apply(queue_core& q, const attrs& a) CMWQ_EXCLUDES(lock_);

    void set_unbound_cpus(const cpuset& cpus) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] cpuset unbound_cpus() const CMWQ_EXCLUDES(lock_);
    void set_default_scope(affinity_scope scope) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] affinity_scope default_scope() const CMWQ_EXCLUDES(lock_);

    // --- CPUs that come and go ---------------------------------------------------------------------------------------

    /// Checks which CPUs are present, and adapts pools and queues if they have changed. Throws std::bad_alloc.
    void check_cpus() CMWQ_EXCLUDES(lock_);
    /// Each of the two threads calls this when it begins. They use only the CPUs that unbound items may use.
    void service_thread_began() noexcept CMWQ_EXCLUDES(lock_);
    void manager_thread_began() noexcept CMWQ_EXCLUDES(lock_);
    /// The manager thread calls this when the unbound CPUs may have changed.
    void move_helpers() noexcept CMWQ_EXCLUDES(lock_) { keep_off_isolated_cpus(false); }

private:
    void share_quota(std::vector<pool_choice>& choices, bool strict) const;
    void serve_other_cpus(std::vector<pool_choice>& choices) const;
    // Gives every attribute-keyed queue the pools for the current settings. Returns the messages of events, which the
    // caller reports once it holds no lock.
    [[nodiscard]] std::vector<std::string> remap_locked() CMWQ_REQUIRES(lock_);
    [[nodiscard]] cpuset usable_now_locked() CMWQ_REQUIRES(lock_);
    void keep_off_isolated_cpus(bool new_thread) noexcept CMWQ_EXCLUDES(lock_);
    void bind_helpers(const cpuset& cpus) const noexcept;

    const pool_env& env_;                                 // I
    queue_list& queues_;                                  // I
    atomic<long> service_tid_{0};                         // 0: the thread has not begun yet
    atomic<long> manager_tid_{0};                         // the mask of this thread shows which CPUs are present
    mutable ranked_mutex<lock_rank::configuration> lock_; // CF
    cpuset unbound_cpus_ CMWQ_GUARDED_BY(lock_);
    cpuset usable_ CMWQ_GUARDED_BY(lock_); // the CPUs of the runtime that are present
    affinity_scope default_scope_ CMWQ_GUARDED_BY(lock_);
    cpuset helper_cpus_ CMWQ_GUARDED_BY(lock_); // the threads are bound to these; empty: not bound
    bool helpers_were_bound_ CMWQ_GUARDED_BY(lock_) = false;
    long bound_diagnosis_tid_ CMWQ_GUARDED_BY(lock_) = 0; // the diagnosis thread that was bound like the others
};

}}} // namespace cmwq::CMWQ_NS::detail
