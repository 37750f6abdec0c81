// SPDX-License-Identifier: BSL-1.0
//
// The queues that every program has, on the process-wide runtime.
#pragma once

#include <cmwq/runtime.hpp>
#include <cmwq/workqueue.hpp>

namespace cmwq::inline CMWQ_NS {

/// A queue shared by the whole process. It cannot be flushed or drained: that would wait for strangers, who may need a
/// lock that the caller holds. Flush the item instead, or make a queue of your own: that costs no thread. Its
/// `max_active` belongs to everybody, too: who needs many items that wait for each other makes a queue. By way of
/// `workqueue_base&` set_max_active() throws std::logic_error, and changes nothing.
class system_workqueue : public workqueue_base {
public:
    template <class Policy>
    system_workqueue(Policy policy, options<Policy>&& o) : workqueue_base(nullptr, policy, o) {
        detail::fix_queue_limit(core());
    }

    void set_max_active(unsigned) = delete;
};

/// For short items. Made on first use, never destroyed. Errors (on first use): as `runtime::global()`.
system_workqueue& system_wq();

/// For short items that are urgent: the high-priority pools.
system_workqueue& system_highpri_wq();

/// For items that may take long: what waits in `system_wq()` does not wait for these.
system_workqueue& system_long_wq();

/// For items that need no CPU of their own, may take long, and start at once: unbound.
system_workqueue& system_unbound_wq();

/// For items that have to stand still while the runtime is frozen: see `runtime::freeze()`.
system_workqueue& system_freezable_wq();

/// For items that need not run where they were queued if that saves energy: bound, or elastic if the process-wide
/// runtime has the option `power_efficient` (by `runtime::configure_global()`, or CMWQ=power_efficient=1).
system_workqueue& system_power_efficient_wq();

/// The same for items that have to stand still while the runtime is frozen.
system_workqueue& system_freezable_power_efficient_wq();

/// For items that are short and never block: bottom halves.
system_workqueue& system_bh_wq();

/// The same ahead of those.
system_workqueue& system_bh_highpri_wq();

} // namespace cmwq::inline CMWQ_NS
