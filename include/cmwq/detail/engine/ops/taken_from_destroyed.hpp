// SPDX-License-Identifier: BSL-1.0
//
// The report of an item that is destroyed while it is pending. Only in builds with assertions.
#pragma once

#include <cmwq/detail/base/short_name.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ops/grab.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

#include <string>

#if CMWQ_ASSERTS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Reports that the destructor of an item takes away its pending instance. That is often a mistake, because the item
/// does not run any more, but not always, so it is an event and no error. The argument `how` of `grab_pending()`.
inline bool take_from_destroyed(work_base& w, const directory::lookup& at, found_in where, const auto& take) {
    event_reporter& events = at.runtime->core.env().events;
    if (!events.has_audience(event::kind::destroyed_while_queued)) return take();
    bool taken = false;
    at.runtime->queues.with_all_kept([&] { // so that the name of the queue can be copied
        taken = take();
        if (!taken) return;
        const bool armed = where == found_in::timers;
        const pool_workqueue* const pwq = armed ? nullptr : work_access::pwq(w);
        const queue_core& q = armed ? *work_access::timer(w).queue : pwq->queue->core;
        const char* const form = armed ? "armed, for CPU " : q.keyed() ? "pool " : "CPU ";
        const int number = armed ? work_access::timer(w).cpu : static_cast<int>(pwq->pool->number());
        events.post(event::kind::destroyed_while_queued, 0, current_cpu(),
                    [item = name_of(w), queue = short_name(q.name), form, number] {
                        return "cmwq: " + describe(item) + " is destroyed while it is queued on " +
                               describe_queue(queue.text) + " (" + form + std::to_string(number) + "): it does not run";
                    });
    });
    return taken;
}

}}} // namespace cmwq::CMWQ_NS::detail

#endif
