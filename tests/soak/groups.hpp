// SPDX-License-Identifier: BSL-1.0
//
// Task groups with several waiters, whose tasks add tasks and wait for groups of their own.
#pragma once

#include "queues.hpp"

namespace soak {

class world;

/// Makes a group on the queue, and waits for its tasks in this thread, in others, and in items of the queue. The
/// calling thread runs no item.
void grow_groups(world& w, any_queue& q);

} // namespace soak
