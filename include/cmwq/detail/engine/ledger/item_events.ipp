// SPDX-License-Identifier: BSL-1.0
//
// Bodies of item_events.hpp.

#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline queue_event event_of(const pool_workqueue& pwq, std::int64_t time) noexcept {
    return {time, pwq.queue->name, pwq.queue->policy, pwq.number_of_pool()};
}
inline item_event event_of(const item_name& i, const pool_workqueue& pwq, std::int64_t time) noexcept {
    return {event_of(pwq, time), i.item, i.function, 0};
}

CMWQ_INLINE void tell_of_item(const work_base& w, const pool_workqueue& pwq,
                              void (observer::*what)(const item_event&) noexcept) noexcept {
    const item_event e = event_of(name_of(w), pwq, steady_now());
    pwq.queue->env.observing.tell([&](observer& o) { (o.*what)(e); });
}

CMWQ_INLINE void tell_mayday(const pool_workqueue& pwq) noexcept {
    const queue_event e = event_of(pwq, steady_now());
    pwq.queue->env.observing.tell([&](observer& o) { o.mayday(e); });
}

template <class F>
void observed_run::tell(std::int64_t time, const F& f, std::int64_t cpu_time) const noexcept {
    item_event e = event_of(item_, *self_.current_pwq, time);
    e.cpu_time = cpu_time;
    self_.current_pwq->queue->env.observing.tell([&](observer& o) { f(o, e); });
}

CMWQ_INLINE void observed_run::begin() noexcept {
    item_ = name_of(*static_cast<const work_base*>(item_.item)); // of a task, which task
    self_.observed = this;
    began_ = steady_now();
    tell(began_, [](observer& o, const item_event& e) { o.started(e); });
}

CMWQ_INLINE void observed_run::finish(std::int64_t cpu_time) noexcept {
    tell_noticed_block();
    tell(steady_now(), [](observer& o, const item_event& e) { o.ended(e); }, cpu_time);
    self_.observed = outer_;
}

CMWQ_INLINE void observed_run::block(block_reason why) noexcept {
    tell_noticed_block();
    tell(steady_now(), [why](observer& o, const item_event& e) { o.blocked(e, why); });
}

CMWQ_INLINE void observed_run::unblock() noexcept {
    tell(steady_now(), [](observer& o, const item_event& e) { o.unblocked(e); });
}

// The detectors know the record of the thread. If the item runs inside another one, that is the outermost record.
CMWQ_INLINE void observed_run::tell_noticed_block() noexcept {
    run_record* of_thread = &self_;
    while (of_thread->is_nested()) of_thread = of_thread->interrupted;
    const noticed_block::notice n = of_thread->noticed.take();
    if (n.time < began_) return; // there is none, or it is about an item before this one
    tell(n.time, [&n](observer& o, const item_event& e) { o.blocked(e, n.who); });
}

}}} // namespace cmwq::CMWQ_NS::detail
