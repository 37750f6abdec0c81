// SPDX-License-Identifier: BSL-1.0
//
// The handlers of fork(): the parent stops all locks meanwhile, and in the child the runtimes are dead.
#pragma once

#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/topo/hwloc_call.hpp>

#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Held while a per-process object (global.hpp) is made. All objects of the same rank share one lock.
template <lock_rank Rank>
inline constinit ranked_mutex<Rank> creation_lock;

inline void before_fork() noexcept CMWQ_NO_TSA {
    hwloc_call::before_fork(); // before any lock is taken that a thread in hwloc might wait for
    directory& d = directory::get();
    d.lock_for_fork().lock();
    d.for_each_locked([](listed_runtime& r) { r.core.lock_for_fork(); });
}

inline void after_fork_in_parent() noexcept CMWQ_NO_TSA {
    directory& d = directory::get();
    d.for_each_locked([](listed_runtime& r) { r.core.unlock_after_fork(); });
    d.lock_for_fork().unlock();
    hwloc_call::after_fork_in_parent();
}

inline void after_fork_in_child() noexcept CMWQ_NO_TSA {
    directory& d = directory::get();
    d.for_each_locked([](listed_runtime& r) {
        r.core.mark_dead();
        r.core.unlock_after_fork();
    });
    wait_graph::get().forget_all();
    new (&creation_lock<lock_rank::once>) ranked_mutex<lock_rank::once>;
    new (&creation_lock<lock_rank::system_queue>) ranked_mutex<lock_rank::system_queue>;
    d.begin_generation_locked();
    d.lock_for_fork().unlock();
    hwloc_call::after_fork_in_child();
    thread_slots& slots = this_thread_slots();
    const run_record* const run = run_of_own_worker();
    const pool_env* const env = run != nullptr ? &run->pool.env() : slots.helper_of;
    if (env != nullptr) return_to_program(env->cpus.allowed(), env->threads.own(), env->threads.signals());
    slots = {.bh_depth = slots.bh_depth}; // the thread may have been a worker; its guards still end
}

/// Installs the handlers. Called before main(), or when a plugin is loaded, and again by each runtime, because a static
/// object may make one still earlier. Called without any lock: until the handlers are installed, a fork() would leave a
/// locked mutex in the child that no thread unlocks. Returns true, for the initializer below.
inline bool hook_forks() noexcept {
    static constinit atomic<bool> hooked{false};
    if (!hooked.load(relaxed) && !hooked.exchange(true, relaxed)) {
        at_fork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    }
    return true;
}

/// Initialized before main(), or when a shared object with this code is loaded.
inline const bool forks_are_hooked = hook_forks();

}}} // namespace cmwq::CMWQ_NS::detail
