// SPDX-License-Identifier: BSL-1.0
//
// Queues of every kind behind one interface. Each has the counts that are needed to check its guarantees.
#pragma once

#include "complaints.hpp"
#include "host.hpp"
#include "in_use.hpp"
#include "ledger.hpp"
#include "reliable_item.hpp"
#include "settings.hpp"

#include <cmwq/attrs.hpp>
#include <cmwq/task_group.hpp>
#include <cmwq/workqueue.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace soak {

enum class order : unsigned char {
    none,
    whole,       ///< one order for the queue and all producers
    per_cpu,     ///< one order for each CPU and all producers
    per_context, ///< one order for each CPU and producer: a producer may run its items, so it must hold no lock
};

/// The exception that items throw. Any other exception that leaves an item is a bug.
struct planned_exception {};

/// The properties and guarantees of a queue.
struct nature {
    std::string_view kind;
    bool may_block = true;
    bool has_limit = false; ///< a limit that may be changed
    bool has_attrs = false;
    soak::order order = order::none;
    unsigned at_once = 0; ///< the limit of concurrent runs; 0: not checked, because it changes
    bool at_once_per_cpu = false;
    bool rescuer = false;
    bool freezable = false;
};

/// A set of closures that run one at a time, in the order in which they were queued. `ran` need not be atomic.
struct domain {
    std::mutex lock;        ///< held while a closure is numbered and queued
    std::uint64_t next = 0; ///< protected by `lock`
    std::uint64_t ran = 0;
};

class any_queue {
public:
    any_queue(nature n, complaints& c, std::size_t nr_cpus);
    virtual ~any_queue() = default;
    any_queue(const any_queue&) = delete;
    any_queue& operator=(const any_queue&) = delete;

    [[nodiscard]] virtual cmwq::workqueue_base& front() = 0;
    virtual void flush() = 0;
    virtual void set_max_active(unsigned n) = 0;
    virtual void set_min_active(unsigned n) = 0;
    virtual void apply(const cmwq::attrs& a) = 0;
    virtual void apply_own() = 0; ///< applies the attributes that it has
    /// Null: its items must not block.
    [[nodiscard]] virtual std::unique_ptr<cmwq::task_group> make_group() = 0;
    [[nodiscard]] virtual cmwq::queue_status queue_on_node(unsigned node, cmwq::work_base& w) = 0;

    void drain();
    /// Cancels the pending items. Only for queues whose items are all closures.
    void shut_down();
    [[nodiscard]] bool is_shut() const { return shut_.load(); }
    /// Destroys the queue. This object and its counts stay.
    void destroy();

    const nature is;
    complaints& complain;

    counter entered, left;    ///< runs
    counter posted, post_ran; ///< closures
    counter dropped;          ///< closures that shut_down() has cancelled
    counter thrown, caught;
    counter inside;
    std::vector<counter> inside_cpu;
    std::atomic<std::uint64_t> drains_begun{0}, drains_ended{0};
    std::vector<domain> domains;
    std::deque<reliable_item> reliable;

protected:
    virtual void do_drain() = 0;
    virtual std::size_t do_shut_down() = 0;
    virtual void do_destroy() = 0;

private:
    std::atomic<bool> shut_{false};
};

/// Shows whether a queue was draining at some time during the life of this object. Only then may the queue reject
/// items.
class drain_watch {
public:
    explicit drain_watch(const any_queue& q) : q_(q), ended_(q.drains_ended.load()) {}
    [[nodiscard]] bool saw_one() const { return q_.drains_begun.load() > ended_; }

private:
    const any_queue& q_;
    std::uint64_t ended_;
};

/// One kind of queue: policy, priority, options.
struct queue_kind {
    std::string_view name;
    bool may_block;
    std::unique_ptr<any_queue> (*make)(host& h, complaints& c, stress::random& r);
};

[[nodiscard]] const std::vector<queue_kind>& queue_kinds();

/// A place for a queue that is replaced from time to time.
///
/// The level prevents cycles of waits: items run on queues of their own level and wait only for items and queues of
/// lower levels.
struct slot {
    slot(unsigned l, std::vector<const queue_kind*> k) : level(l), kinds(std::move(k)) {}

    const unsigned level;
    const std::vector<const queue_kind*> kinds; ///< the kinds of queues that may come here
    soak::in_use in_use;
    std::unique_ptr<any_queue> queue; ///< for threads that are inside `in_use`

    // For the items of the queue, which know only the public class. These do not change while items run.
    std::atomic<const cmwq::workqueue_base*> front{nullptr};
    std::atomic<any_queue*> books{nullptr};
};

} // namespace soak
