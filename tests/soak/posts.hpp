// SPDX-License-Identifier: BSL-1.0
//
// Closures, futures, and items that own themselves.
#pragma once

#include "queues.hpp"

namespace soak {

class world;

/// A closure with the actions of an item.
void post(world& w, any_queue& q, unsigned level);
/// Closures that have to run in order. For threads, not for items: it takes a lock around queueing.
void post_in_order(world& w, any_queue& q, unsigned thread);
/// A future: waits for it if waiting is allowed, otherwise only checks whether it was rejected.
void async(world& w, any_queue& q, unsigned level, bool may_wait);
/// An item that deletes itself somewhere in its run.
void fleeting(world& w, any_queue& q, unsigned level);
/// A queue that is destroyed by one of its own items.

} // namespace soak
