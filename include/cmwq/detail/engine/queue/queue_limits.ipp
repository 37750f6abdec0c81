// SPDX-License-Identifier: BSL-1.0
//
// Bodies of queue_limits.

#include <cmwq/detail/engine/queue/queue_limits.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline constexpr unsigned default_min_active = 8;

CMWQ_INLINE void check_min_active(unsigned n, unsigned max_active) {
    if (n >= 1 && n <= max_active) return;
    throw std::invalid_argument("cmwq: min_active is " + std::to_string(n) + ", it must be 1 to max_active, which is " +
                                std::to_string(max_active));
}

CMWQ_INLINE queue_limits::queue_limits(queue_face& q, pwq_list& pwqs, const queue_settings& s)
    : queue_(q), pwqs_(pwqs), max_active_(s.max_active), min_active_(std::min(default_min_active, s.max_active)) {
    if (s.min_active == 0) return;
    check_min_active(s.min_active, s.max_active);
    min_active_.store(s.min_active, relaxed);
}

// Of an attrs_keyed queue.
[[nodiscard]] CMWQ_INLINE unsigned node_of(const pool_workqueue& p) noexcept { return p.pool->spec().node; }

CMWQ_INLINE void queue_limits::make_slots(unsigned node) {
    const scoped_lock g(pwqs_.lock);
    while (slots_of_nodes_.size() <= node) slots_of_nodes_.push_back(std::make_unique<node_slots>());
}

// In proportion to the CPUs. The limit of the first nodes together is rounded, not each share, so the shares add up to
// max_active.
CMWQ_INLINE unsigned queue_limits::share_locked(std::size_t node) const noexcept {
    std::uint64_t before = 0, here = 0, all = 0;
    for (std::size_t n = 0; n < cpus_of_node_.size(); ++n) {
        if (n < node) before += cpus_of_node_[n];
        if (n == node) here = cpus_of_node_[n];
        all += cpus_of_node_[n];
    }
    const std::uint64_t max = max_active_.load(relaxed);
    const auto rounded = [&](std::uint64_t cpus) { return (2 * max * cpus + all) / (2 * all); };
    return static_cast<unsigned>(rounded(before + here) - rounded(before));
}

// Of the nodes whose pools serve the queue; 0: the limit cannot be divided.
CMWQ_INLINE unsigned queue_limits::smallest_share_locked(const pwq_list& pwqs) const noexcept {
    if (queue_.how.fifo) return 0;
    unsigned smallest = max_active_.load(relaxed);
    pwqs.for_each_locked([&](const pool_workqueue& p) {
        const unsigned node = node_of(p);
        smallest =
            std::min(smallest, node == no_node ? 0 : share_locked(node)); // 0: its CPUs are gone, but not all items
    });
    return smallest >= min_active_.load(relaxed) ? smallest : 0;
}

CMWQ_INLINE void queue_limits::move_to_slots_locked(const pwq_list& pwqs, slots_of which) noexcept {
    is_divided_ = which == slots_of::nodes;
    is_shared_.store(is_divided_ && slots_of_nodes_.size() > 1, relaxed);
    pwqs.for_each_locked([&](pool_workqueue& p) {
        // Also if they are the same: after that, no thread takes a slot because it has read an earlier maximum.
        p.ledger->set_slots(p, is_divided_ ? *slots_of_nodes_[node_of(p)] : slots_of_machine_);
    });
}

CMWQ_INLINE bool queue_limits::fits_shares_locked() const noexcept {
    for (std::size_t node = 0; node < slots_of_nodes_.size(); ++node) {
        if (slots_of_nodes_[node]->in_use() > share_locked(node)) return false;
    }
    return true;
}

// If the limit is divided, the nodes' pools start items without sharing a cache line. It is not divided if a node would
// get less than min_active, and could do little while the others are idle; nor while more items are active on a node
// than its share: if the other nodes had theirs, too many would be active on the machine.
CMWQ_INLINE void queue_limits::share_out_locked(const pwq_list& pwqs) noexcept {
    // From here until the new maxima are set no item starts, but for one that a wait starts beyond the limit.
    slots_of_machine_.set_max(0);
    for (const auto& slots : slots_of_nodes_) slots->set_max(0);
    const unsigned smallest = smallest_share_locked(pwqs);
    if (smallest != 0) move_to_slots_locked(pwqs, slots_of::nodes);
    if (smallest == 0 || !fits_shares_locked()) move_to_slots_locked(pwqs, slots_of::machine);
    if (is_divided_) {
        for (std::size_t node = 0; node < slots_of_nodes_.size(); ++node)
            slots_of_nodes_[node]->set_max(share_locked(node));
    } else {
        slots_of_machine_.set_max(max_active_.load(relaxed));
    }
    while (pool_owner* p = slots_of_machine_.grant()) p->notify();
    for (const auto& slots : slots_of_nodes_) {
        while (pool_owner* p = slots->grant()) p->notify();
    }
    slots_of_machine_.set_mark(is_divided_ ? 0 : smallest); // the next time to try
    if (slots_of_machine_.is_down()) queue_.request_reaping();
}

CMWQ_INLINE void queue_limits::set_max_active(unsigned n) noexcept {
    const scoped_lock g(pwqs_.lock);
    max_active_.store(n, relaxed);
    if (min_active_.load(relaxed) > n) min_active_.store(n, relaxed);
    if (queue_.keyed()) share_out_locked(pwqs_);
    else pwqs_.for_each_locked([n](pool_workqueue& p) { p.ledger->set_max_active(p, n); });
}

CMWQ_INLINE void queue_limits::set_min_active(unsigned n) {
    const scoped_lock g(pwqs_.lock);
    check_min_active(n, max_active_.load(relaxed));
    min_active_.store(n, relaxed);
    share_out_locked(pwqs_);
}

}}} // namespace cmwq::CMWQ_NS::detail
