// SPDX-License-Identifier: BSL-1.0
//
// The queues that every program has, on the process-wide runtime.
#pragma once

#include <cmwq/detail/engine/global.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/workqueue.hpp>

#include <string_view>
#include <utility>

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

namespace detail {

// One for each `Make`, which is a lambda and so a type of its own. Their lock comes before that of the global runtime,
// which the first queue makes.
template <class Make>
inline constinit per_process<system_workqueue, lock_rank::system_queue> system_queue_made_by;

// What a queue with pools of its own will want: the machine, as hwloc finds it.
template <class Options>
bool may_look_at_the_machine(const Options& o) {
    if constexpr (requires { o.attrs; }) return true;
    else if constexpr (requires { o.power_efficient; }) return o.power_efficient;
    else return false;
}

// The runtime, and the topology, are made before that lock is taken: both may wait for a dlopen() of another thread, whose
// constructors may use the queue.
template <class Policy, class Make>
system_workqueue& system_queue(Make make_options) {
    return system_queue_made_by<Make>.get([&] { return new system_workqueue(Policy{}, make_options()); },
                                          [&] {
                                              runtime& rt = runtime::global();
                                              if (may_look_at_the_machine(make_options()))
                                                  static_cast<void>(rt.machine());
                                          });
}

} // namespace detail

/// For short items. Made on first use, never destroyed. Errors (on first use): as `runtime::global()`.
inline system_workqueue& system_wq() {
    return detail::system_queue<bound>([] { return options<bound>{.name = "system"}; });
}

/// For short items that are urgent: the high-priority pools.
inline system_workqueue& system_highpri_wq() {
    return detail::system_queue<bound>(
        [] { return options<bound>{.name = "system_highpri", .priority = priority::high}; });
}

/// For items that may take long: what waits in `system_wq()` does not wait for these.
inline system_workqueue& system_long_wq() {
    return detail::system_queue<bound>([] { return options<bound>{.name = "system_long"}; });
}

/// For items that need no CPU of their own, may take long, and start at once: unbound.
inline system_workqueue& system_unbound_wq() {
    return detail::system_queue<unbound>([] { return options<unbound>{.name = "system_unbound"}; });
}

/// For items that have to stand still while the runtime is frozen: see `runtime::freeze()`.
inline system_workqueue& system_freezable_wq() {
    return detail::system_queue<bound>([] { return options<bound>{.name = "system_freezable", .freezable = true}; });
}

/// For items that need not run where they were queued if that saves energy: bound, or elastic if the process-wide
/// runtime has the option `power_efficient` (by `runtime::configure_global()`, or CMWQ=power_efficient=1).
inline system_workqueue& system_power_efficient_wq() {
    return detail::system_queue<bound>(
        [] { return options<bound>{.name = "system_power_efficient", .power_efficient = true}; });
}

/// The same for items that have to stand still while the runtime is frozen.
inline system_workqueue& system_freezable_power_efficient_wq() {
    return detail::system_queue<bound>([] {
        return options<bound>{.name = "system_freezable_power_efficient", .power_efficient = true, .freezable = true};
    });
}

/// For items that are short and never block: bottom halves.
inline system_workqueue& system_bh_wq() {
    return detail::system_queue<bh>([] { return options<bh>{.name = "system_bh"}; });
}

/// The same ahead of those.
inline system_workqueue& system_bh_highpri_wq() {
    return detail::system_queue<bh>(
        [] { return options<bh>{.name = "system_bh_highpri", .priority = priority::high}; });
}

} // namespace cmwq::inline CMWQ_NS
