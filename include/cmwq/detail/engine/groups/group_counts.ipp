// SPDX-License-Identifier: BSL-1.0
//
// Bodies of group_counts.hpp, and of group_credit.hpp: the credit of workers, and tasks that leave their lists.

#include <cmwq/detail/engine/groups/group_counts.hpp>
#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

#include <cstddef>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void count_down_locked(group_core& g, std::size_t n, woken_sleepers& woken) noexcept {
    g.nr_counted -= n;
    if (finished_locked(g)) woken.take_all(g);
    else woken.take_stuck(g); // it may let another task start in its place
}

CMWQ_INLINE void note_moved(work_base& w, moved_to where) noexcept {
    using place = group_task::place;
    if (!work_access::is_task(w)) return;
    auto& t = static_cast<group_task&>(w);
    if (t.where == place::group_list || (t.where == place::local_list && where == moved_to::worker)) return;
    t.where = place::group_list;
    static_cast<void>(t.group.moved.push(t));
}

// --- credit ----------------------------------------------------------------------------------------------------------

CMWQ_INLINE void give_back_credit(worker& self) noexcept {
    woken_sleepers woken; // they are woken last: the group may be gone after the lock has been released
    group_core& g = *self.credit.group;
    const std::size_t n = std::exchange(self.credit.n, 0);
    const scoped_lock guard(g.lock);
    count_down_locked(g, n, woken);
}

CMWQ_INLINE void give_back_credit_before(worker& self, const work_base& next) noexcept {
    if (!is_task_of(*self.credit.group, next)) give_back_credit(self);
}

CMWQ_INLINE void take_from_credit(worker& self, group_core& g) noexcept {
    constexpr std::size_t many = 64;
    if (!self.credit.belongs_to(g)) {
        if (self.credit.n != 0) give_back_credit(self);
        const scoped_lock guard(g.lock);
        g.nr_counted += many;
        g.has_credit.store(true, relaxed);
        self.credit = {.group = &g, .n = many};
    }
    --self.credit.n;
}

CMWQ_INLINE void add_to_credit(worker& self, group_core& g) noexcept {
    if (self.credit.n != 0 && self.credit.group != &g) give_back_credit(self);
    self.credit.group = &g;
    ++self.credit.n;
}

}}} // namespace cmwq::CMWQ_NS::detail
