// SPDX-License-Identifier: BSL-1.0
//
// Per-process objects: made on first use, never destroyed, made again in a forked child.
#pragma once

#include <cmwq/detail/engine/runtime/forks.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Holds one per-process object. Any thread may call every member.
///
/// The variable is `constinit`, so no guard of the compiler is held while the object is made: a child of fork() would
/// wait for that guard for ever. The object is not destroyed, because threads may still run when static objects are
/// destroyed.
///
/// A child of fork() never uses an object of its parent, and never sees one that the parent was just making; the lock
/// is free in the child.
template <class T, lock_rank Rank>
class per_process {
public:
    constexpr per_process() noexcept = default;
    per_process(const per_process&) = delete;
    per_process& operator=(const per_process&) = delete;

    /// Returns the object, and makes it if there is none. `make()` returns a new T*. Its exceptions are passed on, and
    /// the next call tries again. `prepare()` is called before `make()`, without the lock, and perhaps by several
    /// threads.
    template <class F, class P>
    T& get(F&& make, P&& prepare) {
        const unsigned now = directory::get().generation() + 1;
        // [ONCE-1] acquire, pairs [ONCE-2].
        if (generation_.load(acquire) == now) return *newest_.load(relaxed)->object;
        prepare();
        const scoped_lock g(creation_lock<Rank>);
        if (generation_.load(relaxed) != now) {
            auto fresh = std::make_unique<made>();
            fresh->object = make();
            fresh->inherited = newest_.load(relaxed);
            newest_.store(fresh.release(), relaxed);
            generation_.store(now, release); // [ONCE-2]
        }
        return *newest_.load(relaxed)->object;
    }

    /// Waits for a `make()` that is in progress. Then calls `f()` under the lock, which must not throw, if this process
    /// still has no object. Returns whether it called `f()`.
    template <class F>
    bool if_not_made(F&& f) {
        const unsigned now = directory::get().generation() + 1;
        const scoped_lock g(creation_lock<Rank>);
        if (generation_.load(relaxed) == now) return false;
        f();
        return true;
    }

private:
    struct made {
        T* object = nullptr;
        made* inherited = nullptr; // the parent's object: kept reachable for leak checkers
    };

    atomic<made*> newest_{nullptr};
    atomic<unsigned> generation_{0}; // that of the process that made the object, plus one; 0: not made
};

}}} // namespace cmwq::CMWQ_NS::detail
