// SPDX-License-Identifier: BSL-1.0
#include "any_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cmwq_test {

namespace {

[[noreturn]] void has_no(std::string_view what) {
    throw std::logic_error("the policy of this queue has no " + std::string(what));
}

template <class P>
cmwq::options<P> options_of(any_options&& from) {
    cmwq::options<P> o;
    o.name = from.name;
    o.on_exception = std::move(from.on_exception);
    if constexpr (requires { o.max_active; }) o.max_active = from.max_active.value_or(o.max_active);
    else if (from.max_active) has_no("max_active");
    if constexpr (requires { o.min_active; }) o.min_active = from.min_active;
    else if (from.min_active != 0) has_no("min_active");
    if constexpr (requires { o.attrs; }) o.attrs = std::move(from.attrs);
    else if (!(from.attrs == cmwq::attrs{})) has_no("attrs");
    if constexpr (requires { o.rescuer; }) o.rescuer = from.rescuer;
    else if (from.rescuer) has_no("rescuer");
    if constexpr (requires { o.freezable; }) o.freezable = from.freezable;
    else if (from.freezable) has_no("freezable");
    return o;
}

template <class P>
cmwq::workqueue_base& make_queue(cmwq::runtime* rt, any_options&& o) {
    if (rt == nullptr) return *new cmwq::workqueue<P>{options_of<P>(std::move(o))};
    return *new cmwq::workqueue<P>{*rt, options_of<P>(std::move(o))};
}

} // namespace

template <class P>
any_queue::operations any_queue::operations_of() {
    using queue = cmwq::workqueue<P>;
    using base = cmwq::workqueue_base;
    operations all{
        .policy = policy_of<P>,
        .make = make_queue<P>,
        .destroy = [](base& q) { delete static_cast<queue*>(&q); },
        .flush = [](base& q) { static_cast<queue&>(q).flush(); },
        .drain = [](base& q) { static_cast<queue&>(q).drain(); },
        .shutdown = [](base& q) { return static_cast<queue&>(q).shutdown(cmwq::cancel_pending); },
        .shutdown_with =
            [](base& q, const std::function<void(cmwq::work_base&)>& f) {
                return static_cast<queue&>(q).shutdown(cmwq::cancel_pending, f);
            },
        .set_min_active = [](base&, unsigned) { has_no("set_min_active()"); },
        .min_active = [](base&) -> unsigned { has_no("min_active()"); },
        .apply = [](base&, const cmwq::attrs&) { has_no("apply()"); },
        .attributes = [](base&) -> cmwq::attrs { has_no("attributes()"); },
        .queue_on_node = [](base&, unsigned, cmwq::work_base&) -> cmwq::queue_status { has_no("queue_on_node()"); },
        .make_group = [](base&) -> std::unique_ptr<cmwq::task_group> { has_no("task groups"); },
    };
    if constexpr (has_attributes<P>) {
        all.apply = [](base& q, const cmwq::attrs& a) { static_cast<queue&>(q).apply(a); };
        all.attributes = [](base& q) { return static_cast<queue&>(q).attributes(); };
        all.queue_on_node = [](base& q, unsigned node, cmwq::work_base& w) {
            return static_cast<queue&>(q).queue_on_node(node, w);
        };
    }
    if constexpr (has_attributes<P> && has_limit<P>) {
        all.set_min_active = [](base& q, unsigned n) { static_cast<queue&>(q).set_min_active(n); };
        all.min_active = [](base& q) { return static_cast<queue&>(q).min_active(); };
    }
    if constexpr (can_block<P>)
        all.make_group = [](base& q) { return std::make_unique<cmwq::task_group>(static_cast<queue&>(q)); };
    return all;
}

template <class... P>
const any_queue::operations& any_queue::find(std::string_view policy, std::tuple<P...> /*all*/) {
    static const operations all[] = {operations_of<P>()...};
    return *std::ranges::find(all, policy, [](const operations& o) { return o.policy.name; });
}

any_queue::any_queue(const any_policy& p, cmwq::runtime* rt, any_options&& o)
    : does_(&find(p.name, every_policy{})), q_(does_->make(rt, std::move(o))) {}

} // namespace cmwq_test
