// SPDX-License-Identifier: BSL-1.0
//
// The count of unfinished tasks of a group: the threads that wait until it is zero, and the credit of workers.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/waits/group_sleeper.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Sleepers that have been taken off a group, to be woken without its lock.
class woken_sleepers {
public:
    woken_sleepers() noexcept = default;
    woken_sleepers(const woken_sleepers&) = delete;
    woken_sleepers& operator=(const woken_sleepers&) = delete;
    ~woken_sleepers() {
        while (group_sleeper* const s = first_) {
            first_ = s->next; // the sleeper may be gone as soon as it has its permit
            s->sleep.unpark();
        }
    }
    void take_all(group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
        if (g.sleepers == nullptr) return;
        CMWQ_ASSERT(first_ == nullptr);
        first_ = std::exchange(g.sleepers, nullptr);
        for (group_sleeper* s = first_; s != nullptr; s = s->next) s->asleep = false;
    }
    /// A task has been added: takes a sleeper that can run it; if there is none, one that may let it start beyond the
    /// limit; else one that can run it if the limit does not keep it back. One that can do nothing would sleep on, and
    /// wake no other.
    void take_one_for(const group_task& t, group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
        const std::uint64_t pool = work_access::pool_id(work_access::location_of(t));
        if (take_first(g, [pool](const group_sleeper& s) { return s.can_run_task_of(pool); })) return;
        if (!take_stuck(g)) static_cast<void>(take_first(g, [](const group_sleeper& s) { return s.is_guest(); }));
    }
    /// Takes one that may let a task start in its place, if that would be within their number.
    bool take_stuck(group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
        if (g.nr_stuck <= g.nr_beyond_limit) return false;
        return take_first(g, [](const group_sleeper& s) { return s.is_stuck(); });
    }

private:
    template <class F>
    bool take_first(group_core& g, const F& can) noexcept CMWQ_REQUIRES(g.lock) {
        for (group_sleeper** link = &g.sleepers; *link != nullptr; link = &(*link)->next) {
            if (!can(**link)) continue;
            CMWQ_ASSERT(first_ == nullptr);
            first_ = std::exchange(*link, (*link)->next);
            first_->next = nullptr;
            first_->asleep = false;
            return true;
        }
        return false;
    }

    group_sleeper* first_ = nullptr;
};

inline constexpr std::size_t minus_one = ~std::size_t{0}; // modulo the range of the type

/// The owner adds `d` to its count. [GROUP-1] release: a thread that finds the sum zero sees the tasks that have ended.
inline void count_own(group_core& g, std::size_t d) noexcept { g.nr_own.store(g.nr_own.load(relaxed) + d, release); }

/// Whether every task has ended. If other threads add or end tasks meanwhile, that was so at some instant: a thread
/// that ends a task of the owner under the lock has seen that the owner has counted it.
inline bool finished_locked(const group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
    return g.nr_counted + g.nr_own.load(acquire) == 0; // [GROUP-1]
}

/// `n` tasks have ended, or a worker gives back credit for as many.
void count_down_locked(group_core& g, std::size_t n, woken_sleepers& woken) noexcept CMWQ_REQUIRES(g.lock);
/// Takes one task from the credit of the calling worker, which runs a task of the group.
void take_from_credit(worker& self, group_core& g) noexcept;
/// Adds a task that has ended in the calling worker to its credit.
void add_to_credit(worker& self, group_core& g) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
