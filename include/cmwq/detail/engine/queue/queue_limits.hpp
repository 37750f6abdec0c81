// SPDX-License-Identifier: BSL-1.0
//
// queue_limits: how many items of a queue may be active.
#pragma once

#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/queue/pwq_list.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The limit of a queue: for each of its pools, or, if the queue is attrs_keyed, for the whole machine, shared by its
/// nodes.
///
/// Any thread may call every member. Letters: WQ the lock of the pwqs · A atomic
class queue_limits {
public:
    /// Throws std::invalid_argument.
    queue_limits(queue_face& q, pwq_list& pwqs, const queue_settings& s);
    queue_limits(const queue_limits&) = delete;
    queue_limits& operator=(const queue_limits&) = delete;

    [[nodiscard]] unsigned max_active() const noexcept { return max_active_.load(relaxed); }
    [[nodiscard]] unsigned min_active() const noexcept { return min_active_.load(relaxed); }
    /// The lock serializes concurrent callers, so that all pwqs get the limit of the last one.
    void set_max_active(unsigned n) noexcept;
    /// Throws std::invalid_argument, and changes nothing then.
    void set_min_active(unsigned n);

    // --- of an attrs_keyed queue -------------------------------------------------------------------------------------

    /// What a new pwq shares with the others.
    [[nodiscard]] node_slots& slots_of_machine() noexcept { return slots_of_machine_; }
    /// Whether each of several nodes has a share of the limit.
    [[nodiscard]] bool is_shared() const noexcept { return is_shared_.load(relaxed); }
    /// Called before a pwq of a pool of that node is added. Throws std::bad_alloc.
    void make_slots(unsigned node);
    /// How many CPUs the queue may use, by node; exchanged for the former numbers.
    void set_cpus_locked(std::vector<unsigned>& of_node) noexcept { cpus_of_node_.swap(of_node); }
    /// The pwqs, the limit, or the numbers of CPUs have changed.
    void share_out_locked(const pwq_list& pwqs) noexcept CMWQ_REQUIRES(pwqs.lock);
    /// Divides the limit, if it has become possible.
    void divide_locked(const pwq_list& pwqs) noexcept CMWQ_REQUIRES(pwqs.lock) {
        if (!is_divided_ && !queue_.how.fifo) share_out_locked(pwqs);
    }
    /// Calls `f(const node_slots&)` for the slots of each node, then for those of the machine.
    template <class F>
    void for_each_slots_locked(F&& f) const {
        for (const auto& s : slots_of_nodes_) f(*s);
        f(slots_of_machine_);
    }

private:
    [[nodiscard]] unsigned share_locked(std::size_t node) const noexcept;
    [[nodiscard]] unsigned smallest_share_locked(const pwq_list& pwqs) const noexcept CMWQ_REQUIRES(pwqs.lock);
    enum class slots_of : unsigned char { nodes, machine };
    void move_to_slots_locked(const pwq_list& pwqs, slots_of which) noexcept CMWQ_REQUIRES(pwqs.lock);
    [[nodiscard]] bool fits_shares_locked() const noexcept;

    queue_face& queue_;                                       // I
    pwq_list& pwqs_;                                          // I
    atomic<unsigned> max_active_;                             // A, written under WQ
    atomic<unsigned> min_active_;                             // A, written under WQ
    std::vector<unsigned> cpus_of_node_;                      // WQ
    node_slots slots_of_machine_;                             // A: has the whole limit, or none of it
    std::vector<std::unique_ptr<node_slots>> slots_of_nodes_; // WQ
    bool is_divided_ = false;                                 // WQ
    atomic<bool> is_shared_{false};                           // A, written under WQ
};

}}} // namespace cmwq::CMWQ_NS::detail
