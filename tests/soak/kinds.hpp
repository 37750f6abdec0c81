// SPDX-License-Identifier: BSL-1.0
//
// The operations that the soak counts.
#pragma once

#include "ledger.hpp"

namespace soak::op {

// Queueing.
inline kind queue{"queue"}, queue_on{"queue_on"}, queue_on_node{"queue_on_node"}, queue_after{"queue_after"},
    queue_after_on{"queue_after_on"}, modify{"modify"}, post{"post"}, post_on{"post_on"}, async{"async"},
    chain{"chain"};
// Waiting for an answer: an item on another thread must start.
inline kind answer{"answer"};
// Task groups.
inline kind task{"task"}, group_wait{"task group wait"}, group_cancel{"task group cancel"};
// Items.
inline kind item_flush{"item flush"}, cancel{"cancel"}, cancel_sync{"cancel_sync"}, disable{"disable"},
    disable_sync{"disable_sync"}, enable{"enable"}, item_destroyed{"item destroyed"},
    item_destroys_itself{"item destroys itself"};
// Queues.
inline kind flush{"queue flush"}, drain{"drain"}, shutdown{"shutdown"}, set_max_active{"set_max_active"},
    set_min_active{"set_min_active"}, apply{"apply"}, queue_made{"queue made"}, queue_destroyed{"queue destroyed"},
    queue_stats{"queue stats"};
// The runtime.
inline kind runtime_made{"runtime made"}, runtime_destroyed{"runtime destroyed"}, unbound_cpus{"set_unbound_cpus"},
    default_scope{"set_default_scope"}, refresh{"refresh_topology"}, freeze{"freeze"}, wait_frozen{"wait_frozen_for"},
    thaw{"thaw"}, event{"on_event"}, dump{"dump"}, runtime_stats{"runtime stats"};
// Actions of items.
inline kind blocks{"blocks"}, blocks_announced{"blocks, announced"}, burns{"burns"}, throws{"throws"},
    bh_guard{"bh_disable_guard"}, describe{"this_work::describe"}, misuse{"misuse"};
// Actions of the program itself.
inline kind settles{"waits for the round to settle"};

} // namespace soak::op
