// SPDX-License-Identifier: BSL-1.0
//
// directory: all runtimes of one copy of the library, found by the ids of their pools. An item remembers the pool that
// it was in last. The directory finds out whether that pool still exists, and keeps it alive during a lookup.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/topo/hwloc_call.hpp>

#include <cstdint>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Held while a per-process object (global.hpp) is made. All objects of the same rank share one lock.
template <lock_rank Rank>
inline constinit ranked_mutex<Rank> creation_lock;

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
    /// of the library counts its runtimes from its own 31-bit start number, so that the ids of two copies do not
    /// collide.
    std::uint64_t reserve_ids() noexcept {
        return (first_number() + nr_runtimes_made_.fetch_add(1, acq_rel)) * pool_table::nr_pool_ids; // [ID-1]
    }
    /// Whether the id is, or was, that of a pool of this copy.
    [[nodiscard]] bool has_issued(std::uint64_t pool_id) const noexcept {
        // [ID-1] A read-modify-write on both sides. If a thread has read an id and finds no runtime for it, the
        // program may have to end. The thread therefore must see the count that was raised for that id, even if it
        // has read the id by a relaxed load.
        return pool_id / pool_table::nr_pool_ids - first_number() < nr_runtimes_made_.fetch_add(0, acq_rel);
    }

    void add(runtime_core& rt) noexcept CMWQ_EXCLUDES(lock_) {
        watch_forks();
        const scoped_lock g(lock_);
        rt.next_listed.store(first_.load(relaxed), relaxed);
        first_.store(&rt, seq_cst); // [DIR-1] a thread that finds the runtime sees its contents
    }

    /// Returns when no `look` and no `pin` uses the runtime any more.
    void remove(runtime_core& rt) noexcept CMWQ_EXCLUDES(lock_) {
        {
            const scoped_lock g(lock_);
            atomic<runtime_core*>* link = &first_;
            while (link->load(relaxed) != &rt) link = &link->load(relaxed)->next_listed;
            link->store(rt.next_listed.load(relaxed), seq_cst); // [GRACE-2]; a reader at `rt` can go on from it
            readers_.wait();
        }
        for (backoff b; rt.pins.load(acquire) != 0;) b.pause(); // [PIN-1] pairs the release in ~pin
    }

    /// A lookup of the runtime that a pool id belongs to. Keeps the runtime alive while this object lives; its thread
    /// must not run user code meanwhile. Takes no lock. `runtime` is null if the runtime is gone, or is `dead`: it
    /// belongs to the parent of this forked child.
    class look {
    public:
        explicit look(std::uint64_t pool_id) noexcept {
            directory& d = get();
            reader_.enter(d.readers_, current_cpu() % nr_stripes);
            // [GRACE-1], [DIR-1]
            for (runtime_core* r = d.first_.load(seq_cst); r != nullptr; r = r->next_listed.load(seq_cst)) {
                if (!r->owns(pool_id)) continue;
                dead = r->is_dead();
                if (!dead) runtime = r;
                return;
            }
            reader_.leave();
        }
        look(const look&) = delete;
        look& operator=(const look&) = delete;

        runtime_core* runtime = nullptr;
        bool dead = false;

    private:
        grace_counts::reader reader_;
    };

    /// As `look`, but without its limit: the thread may run items while this object lives.
    class pin {
    public:
        explicit pin(std::uint64_t pool_id) noexcept {
            const look at(pool_id);
            dead = at.dead;
            runtime = at.runtime;
            // Relaxed: remove() waits for the current look (GRACE-3), which ends later, and therefore sees the increment.
            if (runtime != nullptr) runtime->pins.fetch_add(1, relaxed);
        }
        ~pin() {
            if (runtime != nullptr) runtime->pins.fetch_sub(1, release); // [PIN-1]
        }
        pin(const pin&) = delete;
        pin& operator=(const pin&) = delete;

        runtime_core* runtime = nullptr;
        bool dead = false;
    };

    /// Incremented in each forked child. Objects of an earlier generation belong to the parent.
    [[nodiscard]] unsigned generation() const noexcept { return generation_.load(acquire); } // [FORK]

    /// Installs the handlers of fork(). Called before main(), or when a plugin is loaded, and again by each runtime,
    /// because a static object may make one still earlier. Called without any lock: until the handlers are installed, a
    /// fork() would leave a locked mutex in the child that no thread unlocks. Returns true, for the initializer below.
    bool watch_forks() noexcept {
        if (!watched_.load(relaxed) && !watched_.exchange(true, relaxed)) {
            at_fork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
        }
        return true;
    }

private:
    static constexpr unsigned nr_stripes = 32;

    // The start number of this copy, made of its address. Never zero.
    [[nodiscard]] std::uint64_t first_number() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) * 0x9e37'79b9'7f4a'7c15u >> 33 | 1;
    }

    template <class F>
    void for_each(F&& f) noexcept {
        for (runtime_core* r = first_.load(relaxed); r != nullptr; r = r->next_listed.load(relaxed)) f(*r);
    }

    static void before_fork() noexcept CMWQ_NO_TSA {
        hwloc_call::before_fork(); // before any lock is taken that a thread in hwloc might wait for
        directory& d = get();
        d.lock_.lock();
        d.for_each([](runtime_core& r) {
            if (!r.is_dead()) r.lock_for_fork();
        });
    }

    static void after_fork_in_parent() noexcept CMWQ_NO_TSA {
        directory& d = get();
        d.for_each([](runtime_core& r) {
            if (!r.is_dead()) r.unlock_after_fork();
        });
        d.lock_.unlock();
        hwloc_call::after_fork_in_parent();
    }

    static void after_fork_in_child() noexcept CMWQ_NO_TSA {
        directory& d = get();
        d.for_each([](runtime_core& r) {
            if (r.is_dead()) return;
            r.mark_dead();
            r.unlock_after_fork();
        });
        d.readers_.forget_readers();
        wait_graph::get().forget_all();
        new (&creation_lock<lock_rank::once>) ranked_mutex<lock_rank::once>;
        new (&creation_lock<lock_rank::system_queue>) ranked_mutex<lock_rank::system_queue>;
        d.generation_.fetch_add(1, release); // [FORK]
        d.lock_.unlock();
        hwloc_call::after_fork_in_child();
        thread_slots& slots = this_thread_slots();
        // A bottom half may run in a thread of the program. Below it is an item, if the thread is a worker.
        const worker* run = slots.current_worker;
        while (run != nullptr && run->pool.is_bottom_half()) run = run->interrupted;
        const pool_env* env = run == nullptr ? slots.helper_of : run->is_guest ? nullptr : &run->pool.env();
        if (env != nullptr) return_to_program(env->cpus.allowed(), env->threads.own(), env->threads.signals());
        slots = {.bh_depth = slots.bh_depth}; // the thread may have been a worker; its guards still end
    }

    static directory the_one_;

    // add() and remove() take no lock behind it. The fork handlers take the locks of the runtimes behind it.
    ranked_mutex<lock_rank::directory> lock_;
    atomic<runtime_core*> first_{nullptr}; // head of the list by `next_listed`; written under the lock
    mutable atomic<std::uint64_t> nr_runtimes_made_{0};
    atomic<unsigned> generation_{0};
    atomic<bool> watched_{false};
    static grace_counts::stripe stripes_[nr_stripes];
    grace_counts readers_{stripes_, nr_stripes};
};

inline constinit grace_counts::stripe directory::stripes_[nr_stripes];
inline constinit directory directory::the_one_;

/// Initialized before main(), or when a shared object with this code is loaded.
inline const bool forks_are_watched = directory::get().watch_forks();

}}} // namespace cmwq::CMWQ_NS::detail
