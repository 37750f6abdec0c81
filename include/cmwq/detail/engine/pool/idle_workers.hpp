// SPDX-License-Identifier: BSL-1.0
//
// idle_workers: the workers of a pool that have nothing to do, in the order in which they are woken.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>

#include <cstddef>

namespace cmwq::inline CMWQ_NS::detail {

/// Two stacks: those who went idle inside of the pod, and those who did elsewhere. Of each the most recently idle one is
/// taken first, because its stack is the warmest, and those inside before all others. At the bottom of one of the two is
/// the one that has been idle for longest, or one that has never run anything. Not thread safe; the pool lock guards it.
class idle_workers {
public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return inside_.size() + outside_.size(); }
    /// Who is woken next; null: nobody is idle.
    [[nodiscard]] worker* front() noexcept { return inside_.empty() ? outside_.front() : inside_.front(); }
    /// Who has been idle for longest; null: nobody is idle.
    [[nodiscard]] worker* coldest() noexcept {
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
    /// A thread that was just made and has never run anything: who has is warmer.
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

} // namespace cmwq::inline CMWQ_NS::detail
