// SPDX-License-Identifier: BSL-1.0
//
// Closures, futures, task groups, and items that own themselves.
#pragma once

#include "queues.hpp"

namespace soak {

class world;

/// Posts a closure with the actions of an item.
void post(world& w, any_queue& q, unsigned level);
/// Posts a closure that must run in order. Items must not call it, because it holds a lock around queueing.
void post_in_order(world& w, any_queue& q, unsigned thread);
/// Calls async(). Waits for the future if `may_wait`; otherwise only checks whether it was rejected.
void async(world& w, any_queue& q, unsigned level, bool may_wait);
/// Begins a chain of closures, each of which posts the next one: thousands, unless the queue drains before. Few exist
/// at a time.
void chain(world& w, any_queue& q);
/// Runs a few tasks as a group, and waits for them. `inside`: the caller is an item of that queue.
void fork_and_join(world& w, any_queue& q, bool inside);
/// Queues an item on the elastic queue of the calling item, which waits for it.
void queue_and_wait(world& w, any_queue& q);
/// Queues an item that deletes itself during its run.
void fleeting(world& w, any_queue& q, unsigned level);

} // namespace soak
