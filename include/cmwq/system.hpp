// SPDX-License-Identifier: BSL-1.0
//
// The queues that every program has, on the process-wide runtime.
#pragma once

#include <cmwq/detail/engine/global.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/workqueue.hpp>

#include <string_view>

namespace cmwq::inline CMWQ_NS {

/// A queue shared by the whole process. It cannot be flushed or drained: that would wait for strangers, who may need a
/// lock that the caller holds. Flush the item instead, or make a queue of your own: that costs no thread. Its
/// `max_active` belongs to everybody, too: who needs many items that wait for each other makes a queue.
class system_workqueue : public workqueue_base {
public:
    system_workqueue(std::string_view name, cmwq::priority prio)
        : workqueue_base(nullptr, name, name, bound::default_max_active, prio, false, none_) {}

    void set_max_active(unsigned) = delete;

private:
    static inline exception_handler none_;
};

namespace detail {

template <class Tag>
system_workqueue& system_queue(std::string_view name, priority prio) {
    static auto& instance = *new per_process<system_workqueue>;
    return instance.get([&] { return new system_workqueue(name, prio); });
}

} // namespace detail

/// For short items. Made on first use, never destroyed. Errors (on first use): as `runtime::global()`.
inline system_workqueue& system_wq() { return detail::system_queue<struct system_tag>("system", priority::normal); }

/// For short items that are urgent: the high-priority pools.
inline system_workqueue& system_highpri_wq() {
    return detail::system_queue<struct system_highpri_tag>("system_highpri", priority::high);
}

/// For items that may take long: what waits in `system_wq()` does not wait for these.
inline system_workqueue& system_long_wq() {
    return detail::system_queue<struct system_long_tag>("system_long", priority::normal);
}

} // namespace cmwq::inline CMWQ_NS
