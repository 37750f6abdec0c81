// SPDX-License-Identifier: BSL-1.0
//
// An item on which every thread does every operation, and which queues itself now and then. The answers of the
// operations have to agree with the number of its runs.
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
    /// `home`: the only slot where it is queued; it must then never run twice at once. Null: any of its level.
    shared_item(world& w, unsigned level, slot* home) : w_(w), level_(level), home_(home) {
        self_ = &work_.emplace(call{*this});
    }

    [[nodiscard]] bool busy() const { return work_->busy(); }
    bool enable() { return work_->enable(); }

    /// Any operation that does not wait.
    void poke();
    /// Any operation that may wait for it. From items of higher levels only.
    void wait();
    /// By the only thread that knows it: cancels the pending instance and counts that.
    void forget();
    /// Destroys the item; the counts stay.
    void destroy() { work_.reset(); }
    /// When nothing is pending any more: whether the books agree.
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
    std::atomic<bool> inside_{false}; // with a home
    std::uint64_t plainly_ = 0;       // with a home: runs, which happen one after another
    std::optional<cmwq::delayed_work<call>> work_;
    cmwq::delayed_work_base* self_ = nullptr; // for its own runs, also while it is destroyed
};

/// A place for one, which is replaced now and then.
struct shared_place {
    shared_place(unsigned l, slot* s) : level(l), home(s) {}

    const unsigned level;
    slot* const home;
    soak::in_use in_use;
    std::unique_ptr<shared_item> item; ///< for those inside
};

} // namespace soak
