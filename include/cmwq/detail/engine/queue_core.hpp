// SPDX-License-Identifier: BSL-1.0
//
// queue_core: what stands behind a workqueue. Its pwqs, one for each CPU of the runtime, its options, and whether it
// accepts items.
#pragma once

#include <cmwq/detail/engine/pool_workqueue.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <memory>
#include <string>

namespace cmwq::inline CMWQ_NS::detail {

class runtime_core;
struct queue_tag;

/// Letters: I set before publication · WQ the mutex below · T the timer lock · A atomic
class queue_core final : public list_node<queue_tag> {
public:
    queue_core(runtime_core& runtime, const queue_settings& s, unsigned nr_cpus)
        : rt(runtime), name(s.name), prio(s.prio), cpu_intensive(s.cpu_intensive), front(s.front),
          pwqs(std::make_unique<pool_workqueue[]>(nr_cpus)), nr_pwqs(nr_cpus), max_active_(s.max_active) {}
    ~queue_core() {
        if (on_exception.destroy != nullptr) on_exception.destroy(on_exception.context);
    }
    queue_core(const queue_core&) = delete;
    queue_core& operator=(const queue_core&) = delete;

    /// Why a queue does not accept items. Items of the queue itself may still queue on a draining one.
    static constexpr std::uint32_t draining = 1, dead = 2; // dead: the parent's, in a forked child

    /// Last step of creation: nothing can fail any more, so the sink is this queue's now.
    void take_exception_sink(const exception_sink& s) noexcept { on_exception = s; }

    [[nodiscard]] bool is_open() const noexcept { return closed_.load(acquire) == 0; }
    [[nodiscard]] bool is_dead() const noexcept { return (closed_.load(acquire) & dead) != 0; }
    void mark_dead() noexcept { closed_.fetch_or(dead, acq_rel); }

    /// Drains nest: the last one to end opens the queue again, and the destructor's never ends.
    void begin_drain() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (nr_drainers_++ == 0) closed_.fetch_or(draining, seq_cst);
    }
    void end_drain() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (--nr_drainers_ == 0) closed_.fetch_and(~draining, seq_cst);
    }

    [[nodiscard]] unsigned max_active() const noexcept { return max_active_.load(relaxed); }
    /// Applies the limit to every pwq; concurrent callers take turns, so that all pwqs agree in the end.
    void set_max_active(unsigned n) noexcept CMWQ_EXCLUDES(lock_);

    runtime_core& rt;                             // I
    const std::string name;                       // I
    const priority prio;                          // I
    const bool cpu_intensive;                     // I
    atomic<workqueue_base*> front;                // A: null once the queue was destroyed from inside
    const std::unique_ptr<pool_workqueue[]> pwqs; // I, as an array; the elements belong to their pools' locks
    const unsigned nr_pwqs;                       // I
    intrusive_list<work_timer, timer_tag> armed;  // T: timers that belong to this queue
    exception_sink on_exception;                  // I

private:
    atomic<std::uint32_t> closed_{0};                 // A
    atomic<unsigned> max_active_;                     // A, written under WQ
    mutex lock_;                                      // WQ; before the pool locks
    unsigned nr_drainers_ CMWQ_GUARDED_BY(lock_) = 0; // WQ
};

} // namespace cmwq::inline CMWQ_NS::detail
