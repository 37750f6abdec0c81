// SPDX-License-Identifier: BSL-1.0
//
// The bodies of the functions for the system queues. Each queue is made at its first use.

#include <cmwq/detail/engine/runtime/global.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/system.hpp>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {

// Their lock comes before that of the global runtime, because making the first queue may make the runtime.
using system_queue = per_process<system_workqueue, lock_rank::system_queue>;

// Whether a queue with these options has attributes, and therefore needs the topology.
template <class Options>
bool may_look_at_the_machine(const Options& o) {
    if constexpr (requires { o.attrs; }) return true;
    else if constexpr (requires { o.power_efficient; }) return o.power_efficient;
    else return false;
}

// Makes the queue once. The runtime and the topology are made before the lock is taken, because both may wait for a
// dlopen() of another thread, whose constructors may use the queue.
template <class Policy, class Make>
system_workqueue& made_once(system_queue& queue, Make make_options) {
    return queue.get([&] { return new system_workqueue(Policy{}, make_options()); },
                     [&] {
                         runtime& rt = runtime::global();
                         if (may_look_at_the_machine(make_options())) static_cast<void>(rt.machine());
                     });
}

} // namespace detail

CMWQ_API system_workqueue& system_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(queue, [] { return options<bound>{.name = "system"}; });
}

CMWQ_API system_workqueue& system_highpri_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(
        queue, [] { return options<bound>{.name = "system_highpri", .priority = priority::high}; });
}

CMWQ_API system_workqueue& system_long_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(queue, [] { return options<bound>{.name = "system_long"}; });
}

CMWQ_API system_workqueue& system_unbound_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<unbound>(queue, [] { return options<unbound>{.name = "system_unbound"}; });
}

CMWQ_API system_workqueue& system_freezable_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(queue,
                                    [] { return options<bound>{.name = "system_freezable", .freezable = true}; });
}

CMWQ_API system_workqueue& system_power_efficient_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(
        queue, [] { return options<bound>{.name = "system_power_efficient", .power_efficient = true}; });
}

CMWQ_API system_workqueue& system_freezable_power_efficient_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bound>(queue, [] {
        return options<bound>{.name = "system_freezable_power_efficient", .power_efficient = true, .freezable = true};
    });
}

CMWQ_API system_workqueue& system_bh_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bh>(queue, [] { return options<bh>{.name = "system_bh"}; });
}

CMWQ_API system_workqueue& system_bh_highpri_wq() {
    static constinit detail::system_queue queue;
    return detail::made_once<bh>(queue,
                                 [] { return options<bh>{.name = "system_bh_highpri", .priority = priority::high}; });
}

}} // namespace cmwq::CMWQ_NS
