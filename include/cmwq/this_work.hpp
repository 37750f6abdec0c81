// SPDX-License-Identifier: BSL-1.0
//
// this_work: functions by which a work function inspects its own run.
#pragma once

#include <cmwq/detail/engine_ops.hpp>

/// The item and the queue of the calling work function. Outside of a work function they return null or false. Errors:
/// none. Blocks: no.
namespace cmwq { inline namespace CMWQ_NS { namespace this_work {

/// Returns the item that the calling thread runs. Null if the item is gone: its function has destroyed it, or it came
/// from `post()` or `async()` and a handler deals with its exception. Other threads cannot wait for an item of
/// `post()`.
[[nodiscard]] inline work_base* current() noexcept { return detail::work_of_this_thread(); }

/// Returns the queue on which this run was queued.
[[nodiscard]] inline workqueue_base* queue() noexcept { return detail::queue_of_this_thread(); }

/// Whether a rescuer runs this item, because no worker could be made. Other items wait for it then. It is the rescuer
/// of this item's queue, or of the queue of an item that waits for this one and runs it meanwhile.
[[nodiscard]] inline bool on_rescuer() noexcept { return detail::on_rescuer_thread(); }

/// Sets a short description of this run, which the watchdog shows; the first 31 bytes are kept. It applies until the
/// end of the run or the next call; a task that a wait in the run runs has its own. Outside of a work function this
/// does nothing.
inline void describe(std::string_view what) noexcept { detail::describe_this_run(what); }

}}} // namespace cmwq::CMWQ_NS::this_work
