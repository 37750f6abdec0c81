// SPDX-License-Identifier: BSL-1.0
//
// Items that run inside others, which wait for them.
#pragma once

#include <cmwq/detail/engine/threads/item_pool.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whether a wait of this thread may run items and tasks. Those that it runs already, one inside the other, must leave
/// enough of its stack: together they use half of what the outermost wait has found, and 512 KiB at most. And the
/// thread must hold no bottom halves back, for whose effect an item may wait.
[[nodiscard]] bool may_run_in_wait(run_record& self) noexcept;

/// The calling thread, which is a worker of an elastic pool and runs an item under `self`, is about to wait for `w`. If
/// `w` is pending in that pool and may start, its queue has local lists, and the waits on the stack leave room for it,
/// runs it inside that item. It may start beyond the limit if an item on the stack has a slot of its queue. False: `w`
/// has not run here. Ends the program if `w` throws and its queue has no handler.
[[nodiscard]] bool run_for_waiter(run_record& self, work_base& w) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
