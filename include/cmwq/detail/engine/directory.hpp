// SPDX-License-Identifier: BSL-1.0
//
// directory: all runtimes of the process, by the ids of their pools. An item remembers the pool that it was in last; the
// directory tells whether that pool still exists, and keeps it while somebody looks.
#pragma once

#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

class directory {
public:
    static directory& get() {
        static directory* const d = new directory; // immortal: items may be destroyed after everything else
        return *d;
    }

    /// Ids are never used again; zero is no id.
    std::uint64_t reserve_ids(std::uint64_t n) noexcept { return next_id_.fetch_add(n, relaxed); }

    void add(runtime_core& rt) CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        entries_.push_back({rt.id(), runtime_core::nr_pool_ids, &rt});
    }

    /// Returns when nobody looks at the runtime's pools any more.
    void remove(runtime_core& rt) noexcept CMWQ_EXCLUDES(lock_) {
        {
            const scoped_lock g(lock_);
            std::erase_if(entries_, [&](const entry& e) { return e.runtime == &rt; });
        }
        for (backoff b; rt.pins.load(acquire) != 0;) b.pause(); // [PIN-1] pairs the release in ~pin
    }

    /// The runtime that a pool id belongs to, kept for the life of this object. `runtime` is null if it is gone;
    /// `dead`: it was the parent's, and this is a forked child.
    class pin {
    public:
        explicit pin(std::uint64_t pool_id) noexcept {
            directory& d = get();
            const scoped_lock g(d.lock_);
            for (const entry& e : d.entries_) {
                if (pool_id - e.first >= e.count) continue;
                dead = e.dead;
                if (dead) return;
                runtime = e.runtime;
                runtime->pins.fetch_add(1, relaxed);
            }
        }
        ~pin() {
            if (runtime != nullptr) runtime->pins.fetch_sub(1, release); // [PIN-1]
        }
        pin(const pin&) = delete;
        pin& operator=(const pin&) = delete;

        runtime_core* runtime = nullptr;
        bool dead = false;
    };

    /// A lock that another thread may hold at a fork(), over data that is sound at any moment: open in the child.
    void reset_in_child(mutex& m) CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        reset_in_child_.push_back(&m);
    }

    /// Incremented in each forked child: what was made before belongs to the parent.
    [[nodiscard]] unsigned generation() const noexcept { return generation_.load(acquire); }

private:
    struct entry {
        std::uint64_t first;
        std::uint64_t count;
        runtime_core* runtime;
        bool dead = false;
    };

    directory() noexcept { at_fork(&before_fork, &after_fork_in_parent, &after_fork_in_child); }

    static void before_fork() noexcept CMWQ_NO_TSA {
        directory& d = get();
        d.lock_.lock();
        for (const entry& e : d.entries_) {
            if (!e.dead) e.runtime->lock_for_fork();
        }
    }

    static void after_fork_in_parent() noexcept CMWQ_NO_TSA {
        directory& d = get();
        for (const entry& e : d.entries_) {
            if (!e.dead) e.runtime->unlock_after_fork();
        }
        d.lock_.unlock();
    }

    static void after_fork_in_child() noexcept CMWQ_NO_TSA {
        directory& d = get();
        for (entry& e : d.entries_) {
            if (e.dead) continue;
            e.runtime->mark_dead();
            e.runtime->unlock_after_fork();
            e.dead = true;
        }
        for (mutex* m : d.reset_in_child_) new (m) mutex;
        d.generation_.fetch_add(1, release);
        d.lock_.unlock();
        thread_slots& slots = this_thread_slots();
        slots = {.bh_depth = slots.bh_depth}; // it may have been a worker; its guards still end
    }

    ranked_mutex<lock_rank::directory>
        lock_; // innermost, but for the fork handlers, which take the runtimes' queue lists behind it
    std::vector<entry> entries_ CMWQ_GUARDED_BY(lock_);
    std::vector<mutex*> reset_in_child_ CMWQ_GUARDED_BY(lock_);
    atomic<std::uint64_t> next_id_{1};
    atomic<unsigned> generation_{0};
};

} // namespace cmwq::inline CMWQ_NS::detail
