// SPDX-License-Identifier: BSL-1.0
//
// placement: which pools serve a queue, and how that changes with its attributes and with the CPUs that there are.
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

namespace cmwq::inline CMWQ_NS::detail {

/// One pool of those that serve a queue, and the CPUs whose callers it serves.
struct pool_choice {
    pool_spec spec;
    std::vector<unsigned> indices; ///< of those CPUs
};

/// Any thread may call every member.
///
/// Letters: I set by the constructor · CF lock_
class placement {
public:
    /// Throws std::invalid_argument if `options` leaves no unbound CPU, std::bad_alloc.
    placement(const pool_env& env, queue_list& queues);
    placement(const placement&) = delete;
    placement& operator=(const placement&) = delete;

    /// The configuration lock: the outermost one. While it is held the pools of no queue change.
    [[nodiscard]] ranked_mutex<lock_rank::configuration>& lock() const noexcept CMWQ_TSA(lock_returned(lock_)) {
        return lock_;
    }

    /// The pools for `plan.wanted`; with the configuration lock held. Throws std::invalid_argument if that cannot be met,
    /// and not `lenient`; std::bad_alloc.
    [[nodiscard]] std::vector<pool_choice> choose_pools(queue_plan& plan, bool lenient) const CMWQ_NO_TSA;
    /// Throws std::invalid_argument, std::bad_alloc; nothing changed then.
    void apply(queue_core& q, const attrs& a) CMWQ_EXCLUDES(lock_);

    void set_unbound_cpus(const cpuset& cpus) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] cpuset unbound_cpus() const CMWQ_EXCLUDES(lock_);
    void set_default_scope(affinity_scope scope) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] affinity_scope default_scope() const CMWQ_EXCLUDES(lock_);

    // --- CPUs that come and go ------------------------------------------------------------------------------------------

    /// Looks which CPUs there are, and adapts if they have changed. Throws std::bad_alloc.
    void check_cpus() CMWQ_EXCLUDES(lock_);
    /// The service thread and the staff thread begin here: they keep off the CPUs that unbound items keep off.
    void service_thread_began() noexcept CMWQ_EXCLUDES(lock_);
    void staff_thread_began() noexcept CMWQ_EXCLUDES(lock_);
    /// The staff thread: the unbound CPUs may have changed.
    void move_helpers() noexcept CMWQ_EXCLUDES(lock_) { keep_off_isolated_cpus(false); }

private:
    void share_quota(std::vector<pool_choice>& choices, bool strict) const;
    void serve_other_cpus(std::vector<pool_choice>& choices) const;
    // Makes all queues fit what is set now. The caller reports what comes back once it holds no lock.
    [[nodiscard]] std::vector<std::string> remap_locked() CMWQ_REQUIRES(lock_);
    [[nodiscard]] cpuset usable_now_locked() CMWQ_REQUIRES(lock_);
    void keep_off_isolated_cpus(bool new_thread) noexcept CMWQ_EXCLUDES(lock_);
    void bind_helpers(const cpuset& cpus) const noexcept;

    const pool_env& env_;                                 // I
    queue_list& queues_;                                  // I
    atomic<long> service_tid_{0};                         // 0: it has not begun yet
    atomic<long> staff_tid_{0};                           // its mask tells which CPUs there are
    mutable ranked_mutex<lock_rank::configuration> lock_; // CF
    cpuset unbound_cpus_ CMWQ_GUARDED_BY(lock_);
    cpuset usable_ CMWQ_GUARDED_BY(lock_); // of the runtime's CPUs, those that are there
    affinity_scope default_scope_ CMWQ_GUARDED_BY(lock_);
    cpuset helper_cpus_ CMWQ_GUARDED_BY(lock_); // to which the two threads are bound; empty: to none
    bool helpers_were_bound_ CMWQ_GUARDED_BY(lock_) = false;
};

} // namespace cmwq::inline CMWQ_NS::detail
