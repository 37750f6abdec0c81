// SPDX-License-Identifier: BSL-1.0
#include "reliable_item.hpp"

#include "kinds.hpp"
#include "queues.hpp"

#include <chrono>

using cmwq::queue_status;

namespace soak {

void reliable_item::run() {
    q_.complain.expect(!inside_.exchange(true, std::memory_order_relaxed), "a reliable item runs twice at once",
                       q_.is.kind);
    ++q_.entered;
    ++ran_;
    for (unsigned t = 0; t < max_threads; ++t) {
        seen_[t].store(wanted_[t].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    stress::burn(dice().below(1000));
    inside_.store(false, std::memory_order_relaxed);
    ++q_.left;
}

void reliable_item::use(unsigned thread) {
    stress::random& r = dice();
    const std::uint64_t stamp = wanted_[thread].load(std::memory_order_relaxed) + 1;
    wanted_[thread].store(stamp, std::memory_order_relaxed);
    const drain_watch drains(q_);
    const std::chrono::microseconds delay{1 + r.below(300)};
    const bool later = r.one_in(4);
    const queue_status s = later ? does(op::queue_after, [&] { return q_.front().queue_after(delay, work); })
                                 : does(op::queue, [&] { return q_.front().queue(work); });
    if (s == queue_status::rejected) {
        q_.complain.expect(drains.saw_one(), "rejected without a drain", q_.is.kind);
        return;
    }
    if (s == queue_status::queued) ++queued_;
    // If the item was already pending, its timer may be armed, and flush() of a queue does not wait for an armed timer.
    if (s == queue_status::queued && !later && r.one_in(2)) does(op::flush, [&] { q_.flush(); });
    else does(op::item_flush, [&] { work.flush(); });
    q_.complain.expect(seen_[thread].load(std::memory_order_relaxed) >= stamp,
                       "flush() returned before the run that it covers", q_.is.kind);
}

void reliable_item::verify() {
    q_.complain.expect(!work.busy(), "a reliable item is busy at the end", q_.is.kind);
    q_.complain.expect_equal(queued_, ran_, "a reliable item: queued, ran", q_.is.kind);
}

} // namespace soak
