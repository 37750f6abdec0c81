// SPDX-License-Identifier: BSL-1.0
//
// directory: all runtimes of one copy of the library, found by the ids of their pools. An item remembers the pool that
// it was in last. The directory finds out whether that pool still exists, and keeps it alive during a lookup.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>
#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class queue_list;
class runtime_core;

/// What the directory knows of a runtime. Any thread may call every member that does not say otherwise.
///
/// Letters: I set by the constructor · A atomic
class listed_runtime {
public:
    listed_runtime(runtime_core& rt, pool_finder& p, const queue_list& q) noexcept : core(rt), pools(p), queues(q) {}
    listed_runtime(const listed_runtime&) = delete;
    listed_runtime& operator=(const listed_runtime&) = delete;

    [[nodiscard]] item_pool& pool(std::uint64_t pool_id) const noexcept { return pools.pool(pool_id); }
    [[nodiscard]] bool is_dead() const noexcept { return dead_.load(relaxed); }
    /// The child of a fork() calls this, with the runtime locked.
    void mark_dead() noexcept { dead_.store(true, relaxed); }

    runtime_core& core;       // I: the whole runtime, for those that know it
    pool_finder& pools;       // I
    const queue_list& queues; // I

private:
    friend class directory;

    atomic<bool> dead_{false};              // A: this is a forked child, and the runtime belongs to its parent
    atomic<unsigned> pins_{0};              // A: callers that use the pools now, without a queue that keeps the pools
    atomic<listed_runtime*> next_{nullptr}; // A: in the list of the directory
};

/// One object for each copy of the library. It is constant-initialized and never destroyed, because items may be
/// destroyed after everything else. No part of it is made on first use, so a fork() cannot find a half-made part. Any
/// thread may call every member.
class directory {
public:
    constexpr directory() noexcept {}
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;

    static constexpr directory& get() noexcept { return the_one_; }

    /// Returns the first of the `nr_pool_ids` pool ids of a new runtime. Ids are never reused; zero is no id. Each copy
    /// of the library counts its runtimes from its own 30-bit start number, so that the ids of two copies do not
    /// collide.
    std::uint64_t reserve_ids() noexcept {
        return (first_number() + nr_runtimes_made_.fetch_add(1, acq_rel)) * pool_finder::nr_pool_ids; // [ID-1]
    }
    /// The number of the runtime with this first id, from 0.
    [[nodiscard]] std::uint64_t number_of(std::uint64_t first_id) const noexcept {
        return first_id / pool_finder::nr_pool_ids - first_number();
    }
    /// Whether the id is, or was, that of a pool of this copy.
    [[nodiscard]] bool has_issued(std::uint64_t pool_id) const noexcept {
        // [ID-1] A read-modify-write on both sides. If a thread has read an id and finds no runtime for it, the
        // program may have to end. The thread therefore must see the count that was raised for that id, even if it
        // has read the id by a relaxed load.
        return pool_id / pool_finder::nr_pool_ids - first_number() < nr_runtimes_made_.fetch_add(0, acq_rel);
    }

    void add(listed_runtime& rt) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        rt.next_.store(first_.load(relaxed), relaxed);
        first_.store(&rt, seq_cst); // [DIR-1] a thread that finds the runtime sees its contents
    }

    /// Returns when no `lookup` and no `pin` uses the runtime any more.
    void remove(listed_runtime& rt) noexcept CMWQ_EXCLUDES(lock_) {
        {
            const scoped_lock g(lock_);
            atomic<listed_runtime*>* link = &first_;
            while (link->load(relaxed) != &rt) link = &link->load(relaxed)->next_;
            link->store(rt.next_.load(relaxed), seq_cst); // [GRACE-2]; a reader at `rt` can go on from it
            readers_.wait();
        }
        for (backoff b; rt.pins_.load(acquire) != 0;) b.pause(); // [PIN-1] pairs the release in ~pin
    }

    /// A lookup of the runtime that a pool id belongs to. Keeps the runtime alive while this object lives; its thread
    /// must not run user code meanwhile. Takes no lock. `runtime` is null if the runtime is gone, or is `dead`: it
    /// belongs to the parent of this forked child.
    class lookup {
    public:
        explicit lookup(std::uint64_t pool_id) noexcept {
            directory& d = get();
            reader_.enter(d.readers_, current_cpu() % nr_stripes);
            // [GRACE-1], [DIR-1]
            for (listed_runtime* r = d.first_.load(seq_cst); r != nullptr; r = r->next_.load(seq_cst)) {
                if (!r->pools.owns(pool_id)) continue;
                dead = r->is_dead();
                if (!dead) runtime = r;
                return;
            }
            reader_.leave();
        }
        lookup(const lookup&) = delete;
        lookup& operator=(const lookup&) = delete;

        listed_runtime* runtime = nullptr;
        bool dead = false;

    private:
        grace_counts::reader reader_;
    };

    /// As `lookup`, but without its limit: the thread may run items while this object lives.
    class pin {
    public:
        explicit pin(std::uint64_t pool_id) noexcept {
            const lookup at(pool_id);
            dead = at.dead;
            runtime = at.runtime;
            // Relaxed: remove() waits for this lookup (GRACE-3), which ends later, and therefore sees the increment.
            if (runtime != nullptr) runtime->pins_.fetch_add(1, relaxed);
        }
        ~pin() {
            if (runtime != nullptr) runtime->pins_.fetch_sub(1, release); // [PIN-1]
        }
        pin(const pin&) = delete;
        pin& operator=(const pin&) = delete;

        listed_runtime* runtime = nullptr;
        bool dead = false;
    };

    /// Incremented in each forked child. Objects of an earlier generation belong to the parent.
    [[nodiscard]] unsigned generation() const noexcept { return generation_.load(acquire); } // [FORK]

    // --- fork(): under the lock --------------------------------------------------------------------------------------

    [[nodiscard]] mutex& lock_for_fork() noexcept { return lock_; }
    /// Calls f(listed_runtime&) for every runtime that belongs to this process.
    template <class F>
    void for_each_locked(F&& f) noexcept {
        for (listed_runtime* r = first_.load(relaxed); r != nullptr; r = r->next_.load(relaxed)) {
            if (!r->is_dead()) f(*r);
        }
    }
    /// The child calls this: the readers of the parent do not exist here.
    void begin_generation_locked() noexcept {
        readers_.forget_readers();
        generation_.fetch_add(1, release); // [FORK]
    }

private:
    static constexpr unsigned nr_stripes = 32;

    // The start number of this copy, made of its address. Never zero.
    [[nodiscard]] std::uint64_t first_number() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) * 0x9e37'79b9'7f4a'7c15u >> 34 | 1;
    }

    static directory the_one_;

    // add() and remove() take no lock behind it. The handlers of fork() take the locks of the runtimes behind it.
    ranked_mutex<lock_rank::directory> lock_;
    atomic<listed_runtime*> first_{nullptr}; // head of the list by `next_`; written under the lock
    mutable atomic<std::uint64_t> nr_runtimes_made_{0};
    atomic<unsigned> generation_{0};
    static grace_counts::stripe stripes_[nr_stripes];
    grace_counts readers_{stripes_, nr_stripes};
    // tools/gdb reads private members, also in core files of other versions. It knows this number; a change of what it
    // reads takes the next one.
    [[maybe_unused]] const unsigned layout_ = 1;
};

inline constinit grace_counts::stripe directory::stripes_[nr_stripes];
inline constinit directory directory::the_one_;

}}} // namespace cmwq::CMWQ_NS::detail
