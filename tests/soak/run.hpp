// SPDX-License-Identifier: BSL-1.0
//
// One run of an item, for the counts of its queue.
#pragma once

#include "queues.hpp"

#include <cmwq/work.hpp>

namespace soak {

class world;

/// Lives as long as the function of an item runs, also when that has destroyed the item.
class run {
public:
    /// `q`: where it was queued, if that is known and in no slot.
    run(world& w, const cmwq::work_base* self, unsigned level, any_queue* q = nullptr);
    ~run();
    run(const run&) = delete;
    run& operator=(const run&) = delete;

    world& w;
    const unsigned level;
    any_queue* const queue; ///< null: it destroys itself

private:
    unsigned cpu_ = 0;
    bool counts_cpu_ = false;
};

/// Does a random action of an item. May throw planned_exception.
void behave(const run& r);

} // namespace soak
