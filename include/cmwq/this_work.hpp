// SPDX-License-Identifier: BSL-1.0
//
// What a work function can ask about its own run.
#pragma once

#include <cmwq/detail/engine_ops.hpp>

/// Inside a work function: the item and the queue of this run. Outside of one every answer is null or
/// false.
namespace cmwq::inline CMWQ_NS::this_work {

/// The item that the calling worker runs. Null once the item is gone: its function has destroyed it, or it came from
/// `post()` or `async()` and a handler deals with its exception. An item of `post()` cannot be waited for by others.
[[nodiscard]] inline work_base* current() noexcept { return detail::work_of_this_thread(); }

/// The queue on which this run was queued.
[[nodiscard]] inline workqueue_base* queue() noexcept { return detail::queue_of_this_thread(); }

/// Whether the rescuer of the queue runs this item, because no worker could be made: others wait behind it.
[[nodiscard]] inline bool on_rescuer() noexcept { return detail::on_rescuer_thread(); }

/// Says in a few words, of which 31 bytes are kept, what this run is about: the watchdog shows it. Until the end of the
/// run, or the next call.
inline void describe(std::string_view what) noexcept { detail::describe_this_run(what); }

} // namespace cmwq::inline CMWQ_NS::this_work
