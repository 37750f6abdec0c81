// SPDX-License-Identifier: BSL-1.0
//
// Objects that a process has once: made on first use, never destroyed, made anew in a forked child.
#pragma once

#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

/// Meant as a function-local static reference to a `new` one: not destroyed, because threads may still run when static
/// objects go.
template <class T, lock_rank rank>
class per_process {
public:
    per_process() { directory::get().reset_in_child(lock_); }
    per_process(const per_process&) = delete;
    per_process& operator=(const per_process&) = delete;

    /// `make()` returns a new T*. What it throws is passed on, and the next call tries again.
    template <class F>
    T& get(F&& make) {
        const unsigned now = directory::get().generation() + 1;
        // [ONCE-1] acquire, pairs [ONCE-2].
        if (generation_.load(acquire) == now) return *object_.load(relaxed);
        const scoped_lock g(lock_);
        if (generation_.load(relaxed) != now) {
            inherited_.reserve(inherited_.size() + 1);
            T* const fresh = make();
            inherited_.push_back(object_.load(relaxed)); // the parent's: kept in sight of leak checkers
            object_.store(fresh, relaxed);
            generation_.store(now, release); // [ONCE-2]
        }
        return *object_.load(relaxed);
    }

private:
    ranked_mutex<rank> lock_;
    std::vector<T*> inherited_ CMWQ_GUARDED_BY(lock_);
    atomic<T*> object_{nullptr};
    atomic<unsigned> generation_{0}; // of the process that made it, plus one; 0: not made
};

} // namespace cmwq::inline CMWQ_NS::detail
