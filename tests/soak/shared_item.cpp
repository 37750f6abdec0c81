// SPDX-License-Identifier: BSL-1.0
// proves: progress-1, life-1
#include "shared_item.hpp"

#include "calls.hpp"
#include "kinds.hpp"
#include "run.hpp"
#include "world.hpp"

#include <chrono>
#include <stdexcept>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace soak {

void shared_item::run() {
    const soak::run r(w_, self_, level_);
    struct stay {
        shared_item& i;
        explicit stay(shared_item& s) : i(s) {
            ++i.entered_;
            if (i.home_ == nullptr) return;
            i.w_.complain.expect(!i.inside_.exchange(true, std::memory_order_relaxed), "an item runs twice at once");
            ++i.plainly_;
        }
        ~stay() {
            if (i.home_ != nullptr) i.inside_.store(false, std::memory_order_relaxed);
            ++i.left_;
        }
    } const here{*this};
    if (dice().one_in(16) && !w_.stopping() && r.queue != nullptr) {
        if (dice().one_in(2)) note(submit(w_.machine, *r.queue, *self_));
        else note(submit_after(w_.machine, *r.queue, *self_, 50us));
    }
    behave(r);
}

queue_status shared_item::note(queue_status s) {
    if (s == queue_status::queued) ++queued_;
    return s;
}

void shared_item::note_cancel(bool was_pending) {
    if (was_pending) ++cancelled_;
}

slot& shared_item::some_slot() { return home_ != nullptr ? *home_ : w_.some_slot(level_); }

void shared_item::poke() {
    slot& s = some_slot();
    const visit inside(s.in_use);
    if (!inside) return;
    stress::random& r = dice();
    const auto delay = std::chrono::microseconds{r.below(400)};
    switch (r.below(8)) {
    case 0:
    case 1:
    case 2: note(submit(w_.machine, *s.queue, *work_)); break;
    case 3: note(submit_after(w_.machine, *s.queue, *work_, delay)); break;
    case 4: note(modify(*s.queue, *work_, delay)); break;
    case 5: note_cancel(does(op::cancel, [&] { return work_->cancel(); })); break;
    case 6: disabled_for_a_while(s); break;
    case 7: {
        const bool pending = work_->pending(), busy = work_->busy();
        static_cast<void>(pending || busy); // snapshots: they cannot be checked here
        break;
    }
    }
}

void shared_item::disabled_for_a_while(slot& s) {
    note_cancel(does(op::disable, [&] { return work_->disable(); }));
    const queue_status answer = submit(w_.machine, *s.queue, *work_);
    note(answer);
    w_.complain.expect(answer != queue_status::queued, "queued although disabled", s.queue->is.kind);
    does(op::enable, [&] { work_->enable(); });
}

void shared_item::settled_for_a_while(slot& s) {
    note_cancel(does(op::disable_sync, [&] { return work_->disable_sync(); }));
    const std::uint64_t left = left_;
    // Without a home the item may run on two queues, and disable_sync() knows only one of them.
    if (home_ != nullptr) w_.complain.expect(entered_ == left, "runs after disable_sync()", s.queue->is.kind);
    w_.complain.expect(submit(w_.machine, *s.queue, *work_) != queue_status::queued, "queued although disabled");
    if (dice().one_in(4)) stress::block_for(50us);
    if (home_ != nullptr) w_.complain.expect(entered_ == left, "ran although disabled", s.queue->is.kind);
    does(op::enable, [&] { work_->enable(); });
}

void shared_item::wait() {
    switch (dice().below(4)) {
    case 0:
    case 1: does(op::item_flush, [&] { work_->flush(); }); break;
    case 2: note_cancel(does(op::cancel_sync, [&] { return work_->cancel_sync(); })); break;
    case 3: {
        slot& s = some_slot();
        if (const visit inside(s.in_use); inside) settled_for_a_while(s);
        break;
    }
    }
}

void shared_item::forget() { note_cancel(work_->cancel_sync()); }

void shared_item::verify(bool destroyed_while_pending_perhaps) {
    w_.complain.expect_equal(entered_, left_, "a shared item: entered, left");
    if (home_ != nullptr) w_.complain.expect_equal(entered_, plainly_, "a shared item: runs, counted plainly");
    const std::uint64_t accounted = entered_ + cancelled_;
    const bool one_is_missing = destroyed_while_pending_perhaps && accounted + 1 == queued_;
    if (!one_is_missing) w_.complain.expect_equal(accounted, queued_, "a shared item: ran or was cancelled, queued");
}

} // namespace soak
