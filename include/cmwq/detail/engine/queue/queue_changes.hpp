// SPDX-License-Identifier: BSL-1.0
//
// queue_changes: which pools serve a queue, and how they are exchanged while it is in use.
#pragma once

#include <cmwq/attrs.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/engine/queue/pwq_list.hpp>
#include <cmwq/detail/engine/queue/queue_limits.hpp>
#include <cmwq/detail/engine/queue/queue_routes.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One pool of those that serve a queue, and the CPUs whose callers it serves.
struct pool_choice {
    pool_spec spec;
    std::vector<unsigned> indices; ///< of those CPUs
};

/// The pools that are to serve a queue.
struct chosen_pools {
    std::vector<pool_choice> pools;
    std::vector<unsigned> cpus_of_node; ///< how many CPUs the queue may use, by node
    cpuset cpus;                        ///< the CPUs that the queue may use
    cpuset instead;                     ///< the same, if none of the CPUs that it names is present
};

class queue_changes;

/// A prepared change of the attributes of a queue: the map, and the new pwqs. All operations that can fail have
/// succeeded when the plan is complete. Made and carried out under the configuration lock.
class queue_plan {
public:
    queue_plan(queue_changes& of_queue, const pool_env& e, const attrs& a, chosen_pools&& c)
        : changes(&of_queue), env(e), wanted(a), chosen(std::move(c)) {}
    queue_plan(queue_plan&&) = default;
    queue_plan& operator=(queue_plan&&) = delete;
    ~queue_plan(); // gives back the pools of a plan that was not carried out

    queue_changes* changes; ///< those of the queue
    const pool_env& env;
    attrs wanted;
    std::unique_ptr<pwq_map> map = std::make_unique<pwq_map>();
    std::vector<std::unique_ptr<pool_workqueue>> fresh; ///< the new pwqs; each keeps its pool
    chosen_pools chosen;
};

/// While producers use the former map of a queue, a change of the queue waits for them, or leaves its end to a later
/// call.
enum class if_busy : unsigned char { wait, leave };

/// Makes the pwqs of a queue, exchanges them, and frees them. Any thread may call every member that does not say
/// otherwise.
///
/// Letters: I set before publication · WQ the lock of the pwqs · A atomic
class queue_changes {
public:
    queue_changes(queue_face& q, pwq_list& pwqs, queue_limits& l, queue_routes& r) noexcept
        : queue_(q), pwqs_(pwqs), limits_(l), routes_(r) {}
    queue_changes(const queue_changes&) = delete;
    queue_changes& operator=(const queue_changes&) = delete;

    /// per_cpu and dispatcher: makes one pwq for each CPU; they never change. Throws std::bad_alloc.
    void make_pwqs(priority prio);
    /// attrs_keyed: prepares a change to these pools, under the runtime's configuration lock, which keeps the pools of
    /// the queue the same. Throws std::bad_alloc, and changes nothing then.
    [[nodiscard]] queue_plan plan(const attrs& wanted, chosen_pools&& chosen);
    /// Publishes the map of a plan, and waits for the producers that may use the old one. Items queued after the return
    /// go to the new pools. With `leave` it does not wait: the last change must be finished, and reap() or the next
    /// change finishes this one.
    void carry_out(queue_plan&& p, if_busy then = if_busy::wait) noexcept;
    /// Finishes a change that could not wait for a producer. False: it still cannot, or another thread holds the lock
    /// of the pwqs, as a flush does while it moves a long backlog.
    [[nodiscard]] bool finish() noexcept;
    /// The manager thread calls this: frees replaced pwqs that have drained, and divides the limit if it can. False:
    /// another thread holds the lock, for as long as a producer is stopped in queue(), perhaps.
    [[nodiscard]] bool reap() noexcept;
    /// Called when no item is left and the queue accepts none: waits for the producers that have not left queue(), and
    /// gives back all pools.
    void give_back_pools() noexcept;
    [[nodiscard]] attrs attributes() const;
    [[nodiscard]] bool is_strict_locked() const noexcept { return attrs_.strict(); }
    /// Whether any thread may run tasks of the queue: they need no threads of a particular kind. A hint.
    [[nodiscard]] bool takes_guests() const noexcept { return takes_guests_.load(relaxed); }

private:
    /// Releases the lock while it waits. True: the last change is finished.
    [[nodiscard]] bool finish_locked(const pwq_list& pwqs, if_busy then) noexcept CMWQ_REQUIRES(pwqs.lock);
    void free_locked(pwq_list& pwqs, pool_workqueue& p) noexcept CMWQ_REQUIRES(pwqs.lock);

    queue_face& queue_;                                    // I
    pwq_list& pwqs_;                                       // I
    queue_limits& limits_;                                 // I
    queue_routes& routes_;                                 // I
    atomic<bool> takes_guests_{false};                     // A
    attrs attrs_;                                          // WQ
    std::unique_ptr<const pwq_map> left_map_;              // WQ: not null: producers may use it, `left_wait_` waits
    basic_grace_period<queue_stripe>::progress left_wait_; // WQ
};

}}} // namespace cmwq::CMWQ_NS::detail
