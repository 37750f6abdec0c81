// SPDX-License-Identifier: BSL-1.0
//
// deadlock_check: one check of all registered waits, which finds those that never end.
#pragma once

#include <cmwq/detail/engine/stuck/stuck_set.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One check. The thread that makes and uses it holds the lock of the graph. All members that are not noexcept throw
/// std::bad_alloc; the check has no result then.
class deadlock_check {
public:
    /// The diagnosis thread of the runtime of `env` calls this. If a check is due, finds the waits that are stuck, and
    /// reports those of this runtime. Returns when the next check is due, steady clock; 0: none before the next wait is
    /// registered.
    static std::int64_t check_if_due(const pool_env& env) noexcept;

private:
    deadlock_check(const pool_env& env, std::int64_t now) noexcept : env_(env), now_(now) {}
    deadlock_check(const deadlock_check&) = delete;
    deadlock_check& operator=(const deadlock_check&) = delete;

    /// Reads what each wait depends on, and finds the waits that are stuck.
    void search_locked(wait_graph& g) CMWQ_REQUIRES(g.lock_);
    /// Notes the result in the waits. Appends the reports of the knots that have waits of the runtime, that an earlier
    /// check has found as well, and that have not been reported.
    void report_locked(std::vector<std::vector<wait_report>>& to);
    /// After report_locked(): when to check the waits of the runtime again, steady clock; 0: none is left to check.
    [[nodiscard]] std::int64_t next_locked() const noexcept;

    using node = stuck_set::node;

    /// A limit of a queue (its slots, or one pwq) behind which an awaited item is pending.
    struct limited {
        std::string queue;
        unsigned max_active;
        unsigned all = 0;    ///< active items; in add_limits(): those not known to be held by a wait
        bool frozen = false; ///< the items wait for a thaw, which counts as certain
        node id = 0;
    };
    /// A pwq that shares a limit.
    struct part {
        std::size_t limit;     ///< in limits_
        std::uint64_t nr_left; ///< items that had left the pwq when it was read
    };
    /// A group for which an item waits.
    struct awaited_group {
        struct limit_at {
            std::size_t limit; ///< in limits_
            const item_pool* pool;
        };
        std::vector<limit_at> limits; ///< limits behind which tasks are pending, and in which pools
        node id = 0;
    };
    /// A node that waits for items of a pwq.
    struct awaited_items {
        node who;
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< waits for items of this one and all earlier ones
    };

    void read_locked(registered_wait& r);
    void read_group_of_locked(const registered_wait& r);
    void read_tasks_locked(group_core& g, std::size_t index);
    void hold_locked(run_record& k, node wait);
    void await_run_locked(node who, const run_record* k);
    [[nodiscard]] std::size_t limit_of_locked(const queue_core& q, const pool_workqueue* pwq);
    void add_limits();
    void add_generations();
    void add_groups();
    [[nodiscard]] bool is_confirmed_locked(const registered_wait& r) const noexcept;
    [[nodiscard]] std::vector<wait_report> report_of_locked(const std::vector<node>& members) const;

    const pool_env& env_;
    const std::int64_t now_;              // steady clock
    std::vector<registered_wait*> waits_; // node i is waits_[i]
    std::vector<pool_ledger::held_item> room_, held_;
    std::vector<std::pair<node, node>> for_runs_;         // a wait, and the wait of the run that it waits for
    std::vector<awaited_items> for_items_;                // waits for items of a pwq
    std::vector<std::pair<node, std::size_t>> for_limit_; // a wait, and the index in limits_ of the limit
    std::vector<awaited_group> groups_;
    std::unordered_map<const group_core*, std::size_t> group_by_address_; // the index in groups_
    std::vector<std::pair<node, std::size_t>> for_group_;  // a wait, and the index in groups_ of the group
    std::vector<std::pair<std::size_t, node>> runs_tasks_; // the index of a group, and the wait of a run of its task
    std::vector<limited> limits_;
    std::unordered_map<const pool_workqueue*, std::size_t> limit_by_pwq_; // the index in limits_
    std::unordered_map<const pool_workqueue*, part> parts_;
    stuck_set stuck_;
    std::size_t nr_steps_ = 0; // how many waits, pwqs and items have been read: a measure of the cost
};

}}} // namespace cmwq::CMWQ_NS::detail
