// SPDX-License-Identifier: BSL-1.0
//
// Bodies of spare_workers.

#include <cmwq/detail/engine/threads/spare_workers.hpp>
#include <cmwq/detail/sync/clock.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool spare_workers::pauses() noexcept {
    const std::int64_t again = retry_at_.load(relaxed);
    if (again == 0 || steady_now() >= again) return false;
    env_.requests.arm_monitor();
    return true;
}

CMWQ_INLINE void spare_workers::request() noexcept {
    if (pauses()) return;
    // [ASK-1] seq_cst: this thread has made items pending, then it reads the flag; pairs with take_request(), after
    // which the manager thread checks what is pending. The manager thread is woken in either case: the thread that has
    // set the flag may be preempted before it wakes it.
    if (!wanted_.load(seq_cst)) wanted_.store(true, seq_cst);
    env_.requests.wake_manager();
    if (is_rescuable()) env_.requests.arm_monitor();
}

CMWQ_INLINE void spare_workers::add_locked(worker& w, place where) noexcept {
    switch (where) {
    case place::inside: idle_.push_inside(w); break;
    case place::outside: idle_.push_outside(w); break;
    case place::fresh: idle_.push_fresh(w); break;
    }
    publish_locked();
}

}}} // namespace cmwq::CMWQ_NS::detail
