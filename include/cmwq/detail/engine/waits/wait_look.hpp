// SPDX-License-Identifier: BSL-1.0
//
// wait_look: one look at all waits of the process, for those that will never end.
#pragma once

#include <cmwq/detail/engine/pool/item_pool.hpp>
#include <cmwq/detail/engine/waits/stuck_set.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

/// What a look keeps of a wait that it has met. Under the lock of the graph.
struct seen_wait {
    registered_wait* wait; ///< there as long as it is not gone
    std::uint32_t number;  ///< among those of this look
    bool looked_at = false;
    bool gone = false; ///< it has ended since
};

/// Made and used by one thread, one at a time: the lock of looks is held. All of these throw std::bad_alloc, unless they
/// say otherwise; then the look has come to nothing.
class wait_look {
public:
    explicit wait_look(wait_graph& g) noexcept CMWQ_EXCLUDES(g.lock_);
    ~wait_look();
    wait_look(const wait_look&) = delete;
    wait_look& operator=(const wait_look&) = delete;

    /// Collects what all waits wait for, a few at a time under the lock.
    void collect() CMWQ_NO_TSA;
    /// Finds those that are stuck. No lock is held.
    void solve();
    /// Notes with the waits what has been found, and tells the knots of waits of the runtime of `env` that have been found before, too.
    [[nodiscard]] std::vector<std::vector<wait_report>> publish(const pool_env& env, std::int64_t now) CMWQ_NO_TSA;
    /// After that: when to look at the waits of the runtime of `env` again; 0: none is left.
    [[nodiscard]] std::int64_t next() const noexcept { return next_; }
    /// False: the graph has gone into another one meanwhile, and nothing has come of it.
    [[nodiscard]] bool lasted() const noexcept { return lasted_; }
    /// How many things had to be looked at.
    [[nodiscard]] std::size_t nr_steps() const noexcept { return nr_steps_; }

private:
    using node = stuck_set::node;

    /// What shares one limit, and is to have room for an item that is awaited.
    struct limited {
        std::string queue;
        unsigned max_active;
        unsigned all = 0;    ///< active items
        bool frozen = false; ///< somebody is going to end that
        node id = 0;
    };
    struct part {
        std::size_t limit; ///< in limits_
        std::uint64_t nr_left;
    };
    struct awaited_items {
        node who;
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< this one and all before
    };
    enum class knot_state : unsigned char { unknown, open, told };

    [[nodiscard]] bool goes_on_locked() const noexcept CMWQ_NO_TSA;
    void look_at_locked(registered_wait& r);
    void hold_locked(worker& k, node wait);
    [[nodiscard]] node number_of_locked(registered_wait& r) CMWQ_NO_TSA;
    void await_run_locked(node who, const worker* k);
    [[nodiscard]] std::size_t limit_of_locked(const queue_core& q, const pool_workqueue* pwq, const node_slots* slots);
    void add_limits();
    void add_generations();
    [[nodiscard]] bool is_confirmed_locked(const seen_wait& s, std::int64_t now) const noexcept;
    [[nodiscard]] std::vector<wait_report> report_of_locked(const std::vector<node>& members, std::int64_t now,
                                                            bool& confirmed);

    wait_graph& graph_;
    std::uint64_t number_ = ~std::uint64_t{0};
    bool lasted_ = false;
    std::deque<seen_wait> seen_;
    std::vector<item_pool::held_item> room_, held_;
    std::vector<std::pair<node, node>> for_runs_;         // who waits, for the end of whose wait
    std::vector<awaited_items> for_items_;                // who waits for items of a pwq
    std::vector<std::pair<node, std::size_t>> for_limit_; // who waits for room in limits_
    std::vector<limited> limits_;
    std::unordered_map<const void*, std::size_t> limit_by_key_; // its slots, or its pwq
    std::unordered_map<const pool_workqueue*, part> parts_;
    stuck_set stuck_;
    std::size_t nr_left_ = 0; // waits to be looked at
    std::size_t nr_steps_ = 0;
    std::int64_t next_ = 0;
};

} // namespace cmwq::inline CMWQ_NS::detail
