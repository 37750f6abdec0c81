// SPDX-License-Identifier: BSL-1.0
//
// The current operation of each thread, and the number of calls of each operation. Everything here is relaxed on
// purpose: these counts must not order operations that the library must order.
#pragma once

#include "stress.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/types.h>

namespace soak {

/// A counter that orders no other memory access.
class counter {
public:
    std::uint64_t operator++() { return n_.fetch_add(1, std::memory_order_relaxed) + 1; }
    std::uint64_t operator--() { return n_.fetch_sub(1, std::memory_order_relaxed) - 1; }
    void add(std::uint64_t n) { n_.fetch_add(n, std::memory_order_relaxed); }
    operator std::uint64_t() const { return n_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> n_{0};
};

/// A kind of operation. The constructor registers it in the list.
struct kind {
    explicit kind(const char* called) : name(called), next(all) { all = this; }
    kind(const kind&) = delete;
    kind& operator=(const kind&) = delete;

    const char* const name;
    kind* const next;
    counter tried;

    static inline kind* all = nullptr;
};

/// The current operation of a thread. It is made when the thread, which may be a worker, first calls here(), and lives
/// as long as the thread.
struct activity {
    activity();
    ~activity();
    activity(const activity&) = delete;
    activity& operator=(const activity&) = delete;

    std::atomic<const kind*> what{nullptr}; ///< null: no operation that could get stuck
    std::atomic<std::uint64_t> turn{0};     ///< changes whenever an operation begins or ends
    const pid_t tid;
    stress::random dice;

    // Used by the watchdog only.
    std::uint64_t seen_turn = 0;
    double seen_at = 0;

    static inline std::mutex list_lock;
    static inline std::vector<activity*> list;
};

/// The activity of the calling thread.
activity& here();

inline stress::random& dice() { return here().dice; }

/// Seeds the random numbers of the calling thread with this stream and the seed of the round.
void seed_this_thread(std::uint64_t stream);

/// While this object lives, `k` is the operation of the calling thread.
class doing {
public:
    explicit doing(kind& k) : a_(here()), before_(a_.what.load(std::memory_order_relaxed)) {
        ++k.tried;
        set(&k);
    }
    ~doing() { set(before_); }
    doing(const doing&) = delete;
    doing& operator=(const doing&) = delete;

private:
    void set(const kind* k) {
        a_.what.store(k, std::memory_order_relaxed);
        a_.turn.fetch_add(1, std::memory_order_relaxed);
    }
    activity& a_;
    const kind* before_;
};

/// `does(op::queue, [&] { return q.queue(w); })`
template <class F>
decltype(auto) does(kind& k, F&& f) {
    const doing d(k);
    return std::forward<F>(f)();
}

} // namespace soak
