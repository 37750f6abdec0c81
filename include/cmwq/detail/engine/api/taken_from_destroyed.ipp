// SPDX-License-Identifier: BSL-1.0
//
// The report of an item that is destroyed while it is pending. Only in builds with assertions.
#pragma once

#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/directory.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

#include <new>
#include <optional>
#include <string>

#if CMWQ_ASSERTS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Reports that the destructor of an item has taken away its pending instance. That is often a mistake, because the
/// item does not run any more, but not always, so it is an event and no error. Lives on the stack of the destroying
/// thread.
struct taken_from_destroyed {
    explicit taken_from_destroyed(work_base& item) noexcept : w(item) {}

    /// The argument `how` of `grab_pending()`. Keeps the queue until its name has been copied, and the runtime until
    /// `tell()` has reported the event.
    bool operator()(const directory::look& at, bool armed, const auto& take) {
        if (!at.runtime->env().events.has_listener()) return take();
        bool taken = false;
        at.runtime->queues().with_all_kept([&] {
            taken = take();
            if (!taken) return;
            const pool_workqueue* const pwq = armed ? nullptr : work_access::pwq(w);
            const queue_core& q = armed ? *work_access::timer(w).queue : *pwq->queue;
            form = armed ? "armed, for CPU " : q.keyed() ? "pool " : "CPU ";
            number = armed ? work_access::timer(w).cpu : static_cast<int>(pwq->pool->number());
            try {
                queue = q.name;
            } catch (const std::bad_alloc&) {
                queue.clear(); // the report does not name the queue
            }
        });
        if (taken) kept.emplace(at);
        return taken;
    }

    /// Reports the event. Called when no `look` exists, because the listener may destroy another runtime.
    void notify() const {
        if (!kept.has_value()) return;
        kept->runtime->env().events.report(event::kind::destroyed_while_queued, 0, current_cpu(), [&] {
            return "cmwq: " + describe(name_of(w)) + " is destroyed while it is queued on " + describe_queue(queue) +
                   " (" + form + std::to_string(number) + "): it does not run";
        });
    }

    work_base& w;
    std::string queue;
    const char* form = "";
    int number = 0;
    std::optional<directory::pin> kept;
};

}}} // namespace cmwq::CMWQ_NS::detail

#endif
