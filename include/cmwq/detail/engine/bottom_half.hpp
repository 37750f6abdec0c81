// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves: pools without workers, whose items are run by whoever queues them. What such a thread may spend on
// them, and the thread of a CPU that does what is left.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class runtime_core;
class worker_pool;
class queue_core;

inline constexpr unsigned nr_bh_priorities = 2; // bottom-half pools of a CPU: normal and high

/// What a thread spends on bottom halves at a time. `softirq`: a thread that came to queue an item; ten rounds, each of
/// what was pending at its beginning, or two milliseconds, counted from the end of the first item, so that a single item
/// needs no clock. `turn`: the thread of the CPU, which has nothing else to do; one round, so that the other priority
/// gets its turn.
class bh_budget {
public:
    enum class limit : bool { turn, softirq };
    explicit bh_budget(limit l) noexcept : limit_(l) {}

    /// False: no further round.
    [[nodiscard]] bool begin_round() noexcept {
        if (rounds_++ == (limit_ == limit::turn ? 1 : max_rounds)) over_ = true;
        return !over_;
    }
    /// The pool of high priority goes before each item of the normal one. True: a turn of its own is all that it gets
    /// there.
    [[nodiscard]] bool takes_turns() const noexcept { return limit_ == limit::turn; }
    /// An item has ended, and more is pending. False: that was the last one.
    [[nodiscard]] bool go_on() noexcept;

private:
    static constexpr unsigned max_rounds = 10;
    static constexpr std::int64_t max_time = 2'000'000;

    const limit limit_;
    bool over_ = false;
    unsigned rounds_ = 0;
    std::int64_t end_ = 0; // steady clock; 0: not known yet
};

/// In builds with assertions: whether the calling thread has waited for something since this was made.
class wait_watch {
public:
#if CMWQ_ASSERTS
    explicit wait_watch(bool look) noexcept : before_(look ? nr_voluntary_switches() : -1) {}
    [[nodiscard]] bool waited() const noexcept { return before_ >= 0 && nr_voluntary_switches() != before_; }

private:
    const long before_;
#else
    explicit wait_watch(bool /*look*/) noexcept {}
    [[nodiscard]] static bool waited() noexcept { return false; }
#endif
};

/// The thread of a CPU that runs the bottom halves which nobody else may: queued from another CPU, by a timer, or
/// beyond a budget. Made when it is needed first; parked while it is not.
///
/// Letters: I set before publication · A atomic · ST the staff thread
class bh_thread {
public:
    bh_thread(runtime_core& rt, unsigned cpu, worker_pool& normal, worker_pool& high)
        : rt_(rt), cpu_(cpu), cpus_{cpu}, normal_(normal), high_(high) {}
    bh_thread(const bh_thread&) = delete;
    bh_thread& operator=(const bh_thread&) = delete;

    /// Any thread, also under locks: something has been made pending in one of its pools.
    void kick() noexcept;

    // The staff thread.
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(seq_cst); } // [ARM-2]
    /// Makes the thread, if it is wanted and not there. 0 or errno; then it is still wanted.
    int start_if_wanted() noexcept;
    /// ~runtime(): first all are told, then all are waited for.
    void tell_to_end() noexcept;
    void join() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self);
    void serve() noexcept;

    runtime_core& rt_;    // I
    const unsigned cpu_;  // I
    const cpuset cpus_;   // I
    worker_pool& normal_; // I
    worker_pool& high_;   // I
    thread thread_;       // ST
    parker sleep_;        // A
    atomic<bool> exists_{false};
    atomic<bool> wanted_{false}; // A: somebody kicked it before it was there
    atomic<bool> stop_{false};
};

// For the calling thread, which is inside of no bottom half and no guard: runs what is pending in a bottom-half pool,
// unless somebody does, and then what its items have raised in other ones.
void run_bottom_halves(worker_pool& pool, bh_budget::limit l) noexcept;

// The calling thread has pushed to this bottom-half pool, and sees to it that the item is run. No lock is held.
void raise_bottom_half(worker_pool& pool) noexcept;

// The calling thread is going to wait: what it has raised, and may not run, goes to the threads that are there for it.
void hand_over_bottom_halves() noexcept;

// Says whose item it is that announces to block, and ends the program.
[[noreturn]] void bottom_half_blocks(const queue_core& q) noexcept;

} // namespace cmwq::inline CMWQ_NS::detail
