// SPDX-License-Identifier: BSL-1.0
#include "owned_item.hpp"

#include "calls.hpp"
#include "kinds.hpp"
#include "run.hpp"
#include "world.hpp"

#include <cmwq/detail/sync/clock.hpp>

#include <stdexcept>
#include <string>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace soak {

void owned_item::run() {
    const soak::run r(w_, self_, level);
    w_.complain.expect(!inside_.exchange(true, std::memory_order_relaxed), "an owned item runs twice at once");
    ++ran_;
    seen_payload_ = payload_;
    started_ = cmwq::detail::steady_now();
    seen_.store(wanted_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    struct leave {
        std::atomic<bool>& inside;
        ~leave() { inside.store(false, std::memory_order_relaxed); }
    } const at_end{inside_};
    behave(r);
}

void owned_item::make() { self_ = &work_.emplace(call{*this}); }

void owned_item::note_cancel(bool was_pending) {
    if (!was_pending) return;
    ++cancelled_;
    taken_away_ = true;
}

/// Call before every queueing call: writes the data that the run must see.
void owned_item::publish() {
    if (idle_) ++payload_;
    wanted_.store(++ticket_, std::memory_order_relaxed);
}

void owned_item::note_accepted() {
    stamp_ = ticket_;
    sent_ = payload_;
    taken_away_ = false;
    idle_ = false;
}

void owned_item::expect_answer(any_queue& q, queue_status s, const drain_watch& drains) {
    const bool rejected = s == queue_status::rejected;
    if (rejected) {
        w_.complain.expect(drains.saw_one(), "rejected without a drain", q.is.kind);
        return;
    }
    if (depth_ != 0) {
        w_.complain.expect(s == queue_status::disabled, "a disabled item is not refused", q.is.kind);
        return;
    }
    if (s == queue_status::queued) ++queued_;
    else w_.complain.expect(!idle_ && s == queue_status::already_pending, "an idle item is pending", q.is.kind);
    note_accepted();
}

bool owned_item::queue_once(any_queue& q) {
    publish();
    const drain_watch drains(q);
    const queue_status s = submit(w_.machine, q, *work_);
    expect_answer(q, s, drains);
    return s == queue_status::queued;
}

void owned_item::expect_settled(any_queue& q, const char* what) {
    complaints& c = w_.complain;
    const std::string after = std::string("after ") + what + ": ";
    c.expect_equal(ran_ + cancelled_, queued_, after + "ran or was cancelled, queued", q.is.kind);
    c.expect(!work_->pending(), after + "pending", q.is.kind);
    c.expect(!work_->busy(), after + "busy", q.is.kind);
    c.expect(!inside_.load(std::memory_order_relaxed), after + "runs", q.is.kind);
    if (!taken_away_) {
        c.expect(seen_.load(std::memory_order_relaxed) >= stamp_, after + "the run has not seen the published data",
                 q.is.kind);
        c.expect_equal(seen_payload_, sent_, after + "payloads of the last run, of the last queue()", q.is.kind);
    }
    idle_ = true;
}

void owned_item::queue_somehow(any_queue& q) {
    publish();
    const drain_watch drains(q);
    const auto delay = std::chrono::microseconds{dice().below(300)};
    switch (dice().below(4)) {
    case 0:
    case 1: expect_answer(q, submit(w_.machine, q, *work_), drains); break;
    case 2: expect_answer(q, submit_after(w_.machine, q, *work_, delay), drains); break;
    case 3: {
        const queue_status s = modify(q, *work_, delay);
        if (s == queue_status::modified) {
            w_.complain.expect(!idle_ && depth_ == 0, "modified an item that was not pending", q.is.kind);
            note_accepted();
        } else {
            w_.complain.expect(s != queue_status::already_pending, "modify() says already_pending", q.is.kind);
            expect_answer(q, s, drains);
        }
        break;
    }
    }
}

/// Arms a timer that does not expire: the state of the item must be exact, unless a drain brings the timer forward.
void owned_item::queue_far_away(any_queue& q) {
    if (!idle_ || depth_ != 0) return;
    publish();
    const drain_watch drains(q);
    const queue_status s = submit_after(w_.machine, q, *work_, 100s);
    expect_answer(q, s, drains);
    if (s != queue_status::queued) return;
    const bool pending = work_->pending();
    const queue_status again = submit(w_.machine, q, *work_);
    const queue_status modified = modify(q, *work_, 200s);
    if (again == queue_status::queued) ++queued_; // a drain has made it run
    if (modified == queue_status::queued) ++queued_;
    const bool cancelled = does(op::cancel, [&] { return work_->cancel(); });
    note_cancel(cancelled);
    if (!drains.saw_one()) {
        w_.complain.expect(pending && again == queue_status::already_pending && modified == queue_status::modified &&
                               cancelled,
                           "the state of an item with an armed timer is wrong", q.is.kind);
        expect_settled(q, "cancel() of an armed item");
    }
}

void owned_item::not_before_its_time(any_queue& q) {
    if (!idle_ || depth_ != 0) return;
    publish();
    const drain_watch drains(q);
    const auto delay = std::chrono::microseconds{100 + dice().below(1000)};
    const std::int64_t time = std::chrono::nanoseconds{delay}.count();
    const std::int64_t begin = cmwq::detail::steady_now(); // the clock of the timers, which faults let jump
    const queue_status s = submit_after(w_.machine, q, *work_, delay);
    expect_answer(q, s, drains);
    if (s != queue_status::queued) return;
    stress::block_for(delay);
    // flush() brings the timer forward if it has not expired.
    const bool in_time = cmwq::detail::steady_now() > begin + time && !work_->pending();
    does(op::item_flush, [&] { work_->flush(); });
    expect_settled(q, "flush() of an armed item");
    if (in_time && !drains.saw_one()) w_.complain.expect(started_ >= begin + time, "a timer is early", q.is.kind);
}

void owned_item::cancel(any_queue& q) {
    note_cancel(does(op::cancel, [&] { return work_->cancel(); }));
    // No other thread queues it, and it does not queue itself.
    w_.complain.expect(!work_->pending(), "pending after cancel()", q.is.kind);
}

void owned_item::disabled(any_queue& q) {
    complaints& c = w_.complain;
    const bool sync = dice().one_in(2);
    note_cancel(sync ? does(op::disable_sync, [&] { return work_->disable_sync(); })
                     : does(op::disable, [&] { return work_->disable(); }));
    ++depth_;
    if (sync) expect_settled(q, "disable_sync()");
    c.expect(!work_->pending(), "pending after disable()", q.is.kind);
    if (dice().one_in(2)) queue_somehow(q);
    if (dice().one_in(4)) {
        note_cancel(does(op::disable, [&] { return work_->disable(); }));
        c.expect(!does(op::enable, [&] { return work_->enable(); }), "enabled at a depth of one", q.is.kind);
        if (dice().one_in(2)) queue_somehow(q);
    }
    c.expect(does(op::enable, [&] { return work_->enable(); }), "not enabled at a depth of zero", q.is.kind);
    --depth_;
    c.expect(!work_->pending(), "enable() queues", q.is.kind);
}

void owned_item::step(any_queue& q) {
    switch (dice().below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: queue_somehow(q); break;
    case 5: cancel(q); break;
    case 6: disabled(q); break;
    case 7: queue_far_away(q); break;
    case 8: not_before_its_time(q); break;
    case 9: stress::burn(dice().below(20000)); break;
    case 10: settle(q); break;
    case 11:
        does(op::misuse, [&] {
            try {
                work_->enable();
                w_.complain.add("enable() without disable() is accepted", q.is.kind);
            } catch (const std::logic_error&) {}
        });
        break;
    }
}

void owned_item::settle(any_queue& q) {
    if (dice().one_in(32)) {
        does(op::drain, [&] { q.drain(); });
        expect_settled(q, "drain()");
        return;
    }
    switch (dice().below(4)) {
    case 0:
    case 1:
        does(op::item_flush, [&] { work_->flush(); });
        expect_settled(q, "flush()");
        break;
    case 2:
        note_cancel(does(op::cancel_sync, [&] { return work_->cancel_sync(); }));
        expect_settled(q, "cancel_sync()");
        break;
    case 3: replace(q); break;
    }
}

void owned_item::replace(any_queue& q) {
    does(op::item_destroyed, [&] { work_.reset(); });
    const bool was_pending = ran_ + cancelled_ + 1 == queued_; // the destructor does not report a cancelled run
    if (was_pending) note_cancel(true);
    make();
    expect_settled(q, "destroying an item");
}

void owned_item::episode(any_queue& q) {
    for (unsigned n = 1 + dice().below(8); n != 0; --n) step(q);
    settle(q);
}

} // namespace soak
