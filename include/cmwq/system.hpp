// SPDX-License-Identifier: BSL-1.0
//
// The system queues: every program has them, on the process-wide runtime.
#pragma once

#include <cmwq/workqueue.hpp>

namespace cmwq { inline namespace CMWQ_NS {

/// A queue that the whole process shares. It cannot be flushed or drained: that would wait for items of other parts of
/// the program, which may need a lock that the caller holds. Flush the item instead, or make a queue of your own: that
/// costs no thread. Its `max_active` cannot be changed either: for many items that wait for each other, make a queue of
/// your own. A call of `set_max_active()` through `workqueue_base&` throws std::logic_error, and changes nothing.
///
/// Thread safety: all members may be called from any thread.
class system_workqueue : public workqueue_base {
public:
    /// For the engine, which makes each of them once.
    template <class Policy>
    system_workqueue(Policy policy, options<Policy>&& o) : workqueue_base(nullptr, policy, o) {
        detail::fix_queue_limit(core());
    }

    void set_max_active(unsigned) = delete;
};

/// Returns the queue for short items. This and the following functions make their queue on first use; it is never
/// destroyed. Thread safety: any thread. Errors: on first use, as `runtime::global()`.
system_workqueue& system_wq();

/// Returns the queue for short items that are urgent: the high-priority pools run them. Errors: as `system_wq()`.
system_workqueue& system_highpri_wq();

/// Returns the queue for items that may take long: items that wait in `system_wq()` do not wait for them. Errors: as
/// `system_wq()`.
system_workqueue& system_long_wq();

/// Returns the queue for items that need no CPU of their own, may take long, and start at once. Its policy is
/// `unbound`. Errors: as `system_wq()`.
system_workqueue& system_unbound_wq();

/// Returns the queue for items that must not run while the runtime is frozen, see `runtime::freeze()`. Errors: as
/// `system_wq()`.
system_workqueue& system_freezable_wq();

/// Returns the queue for items that may run on other CPUs if that saves energy: bound pools serve it, or elastic ones
/// if the process-wide runtime has the option `power_efficient` (by `runtime::configure_global()`, or
/// CMWQ=power_efficient=1). Errors: as `system_wq()`.
system_workqueue& system_power_efficient_wq();

/// Returns a queue like `system_power_efficient_wq()`, for items that must not run while the runtime is frozen. Errors:
/// as `system_wq()`.
system_workqueue& system_freezable_power_efficient_wq();

/// Returns the queue for items that are short and never block: bottom halves. Errors: as `system_wq()`.
system_workqueue& system_bh_wq();

/// Returns a queue like `system_bh_wq()`; its items run before the items of that queue. Errors: as `system_wq()`.
system_workqueue& system_bh_highpri_wq();

}} // namespace cmwq::CMWQ_NS

// Last: it compiles the engine, which needs the class above.
#include <cmwq/runtime.hpp>
