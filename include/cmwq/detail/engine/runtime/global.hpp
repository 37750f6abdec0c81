// SPDX-License-Identifier: BSL-1.0
//
// Objects that a process has once: made on first use, never destroyed, made anew in a forked child.
#pragma once

#include <cmwq/detail/engine/runtime/directory.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <memory>

namespace cmwq::inline CMWQ_NS::detail {

/// A `constinit` variable, so that no guard of the compiler's is held while the object is made: a child of fork() would
/// wait for it for ever. It is not destroyed, because threads may still run when static objects go.
///
/// A fork() finds the object made, or not: what its parent was just making nobody sees, and the lock is open in the child.
template <class T, lock_rank Rank>
class per_process {
public:
    constexpr per_process() noexcept = default;
    per_process(const per_process&) = delete;
    per_process& operator=(const per_process&) = delete;

    /// `make()` returns a new T*. Its exceptions are passed on, and the next call tries again. `prepare()` is called
    /// before, without the lock, and perhaps by several threads.
    template <class F, class P>
    T& get(F&& make, P&& prepare) {
        const unsigned now = directory::get().generation() + 1;
        // [ONCE-1] acquire, pairs [ONCE-2].
        if (generation_.load(acquire) == now) return *newest_.load(relaxed)->object;
        prepare();
        const scoped_lock g(making_lock<Rank>);
        if (generation_.load(relaxed) != now) {
            auto fresh = std::make_unique<made>();
            fresh->object = make();
            fresh->inherited = newest_.load(relaxed);
            newest_.store(fresh.release(), relaxed);
            generation_.store(now, release); // [ONCE-2]
        }
        return *newest_.load(relaxed)->object;
    }

    /// Calls `f()`, which must not throw, if the object has not been made in this process yet, and is not just being made.
    /// Returns whether it did.
    template <class F>
    bool if_not_made(F&& f) {
        const unsigned now = directory::get().generation() + 1;
        const scoped_lock g(making_lock<Rank>);
        if (generation_.load(relaxed) == now) return false;
        f();
        return true;
    }

private:
    struct made {
        T* object = nullptr;
        made* inherited = nullptr; // the parent's: kept in sight of leak checkers
    };

    atomic<made*> newest_{nullptr};
    atomic<unsigned> generation_{0}; // of the process that made it, plus one; 0: not made
};

} // namespace cmwq::inline CMWQ_NS::detail
