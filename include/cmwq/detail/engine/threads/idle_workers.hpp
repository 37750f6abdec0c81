// SPDX-License-Identifier: BSL-1.0
//
// idle_workers: the idle workers of a pool, in the order in which they are woken.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

#include <cstddef>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Two stacks: the workers that went idle inside the pod, and those that went idle elsewhere. From each stack the most
/// recently idle worker is taken first, because its stack memory is most likely in the cache. Workers inside the pod
/// are taken before all others. New workers that have never run anything are at the bottom of the second stack. Not
/// thread-safe; the pool lock guards it.
class idle_workers {
public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return inside_.size() + outside_.size(); }
    /// The worker to wake next; null: no worker is idle.
    [[nodiscard]] worker* front() noexcept { return inside_.empty() ? outside_.front() : inside_.front(); }
    /// The worker to end first: of the bottom workers of the two stacks, the one that has been idle longer. Null: no
    /// worker is idle.
    [[nodiscard]] worker* next_to_end() noexcept {
        worker* const a = inside_.back();
        worker* const b = outside_.back();
        if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
        return a->idle_since < b->idle_since ? a : b;
    }

    void push_inside(worker& w) noexcept { inside_.push_front(w); }
    void push_outside(worker& w) noexcept {
        w.idle_outside = true;
        outside_.push_front(w);
    }
    /// Adds a new worker, which has never run anything: all other workers have warmer caches.
    void push_fresh(worker& w) noexcept {
        w.idle_outside = true;
        outside_.push_back(w);
    }
    void remove(worker& w) noexcept {
        (w.idle_outside ? outside_ : inside_).remove(w);
        w.idle_outside = false;
    }

private:
    intrusive_list<worker, idle_tag> inside_;
    intrusive_list<worker, idle_tag> outside_;
};

}}} // namespace cmwq::CMWQ_NS::detail
