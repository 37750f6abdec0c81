// SPDX-License-Identifier: BSL-1.0
//
// An item on which every thread does every operation, and which queues itself from time to time. The results of the
// operations must agree with the number of its runs.
#pragma once

#include "in_use.hpp"
#include "ledger.hpp"
#include "queues.hpp"

#include <cmwq/delayed_work.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace soak {

class world;

class shared_item {
public:
    /// `home`: the only slot in which it is queued; then it must never run twice at once. Null: it is queued in any
    /// slot of its level.
    shared_item(world& w, unsigned level, slot* home) : w_(w), level_(level), home_(home) {
        self_ = &work_.emplace(call{*this});
    }

    [[nodiscard]] bool busy() const { return work_->busy(); }
    bool enable() { return work_->enable(); }

    /// Does an operation that does not wait.
    void poke();
    /// Does an operation that may wait for the item. An item may call this only if its level is higher.
    void wait();
    /// For the only thread that uses the item: cancels the pending instance and counts that.
    void forget();
    /// Destroys the item; the counts stay.
    void destroy() { work_.reset(); }
    /// Checks the counts. Call it when nothing is pending any more.
    void verify(bool destroyed_while_pending_perhaps);

private:
    struct call {
        shared_item& i;
        void operator()() { i.run(); }
    };

    void run();
    cmwq::queue_status note(cmwq::queue_status s);
    void note_cancel(bool was_pending);
    void disabled_for_a_while(slot& s);
    void settled_for_a_while(slot& s);
    slot& some_slot();

    world& w_;
    const unsigned level_;
    slot* const home_;
    counter queued_, cancelled_, entered_, left_;
    std::atomic<bool> inside_{false}; // used with a home only
    std::uint64_t plainly_ = 0;       // used with a home only: runs, each of which happens after the previous one
    std::optional<cmwq::delayed_work<call>> work_;
    cmwq::delayed_work_base* self_ = nullptr; // for the runs, even while the item is being destroyed
};

/// A place for a shared item that is replaced from time to time.
struct shared_place {
    shared_place(unsigned l, slot* s) : level(l), home(s) {}

    const unsigned level;
    slot* const home;
    soak::in_use in_use;
    std::unique_ptr<shared_item> item; ///< for threads that are inside `in_use`
};

} // namespace soak
