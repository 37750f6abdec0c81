// SPDX-License-Identifier: BSL-1.0
//
// The events of items, for the observers of their runtime. An observed queue measures all of its items, so the places
// that measure an item also tell of it, and items of other queues cost nothing.
#pragma once

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/observer.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Calls that member of each observer, for an item of `pwq` of which the caller owns PENDING.
void tell_of_item(const work_base& w, const pool_workqueue& pwq,
                  void (observer::*what)(const item_event&) noexcept) noexcept;
/// The rescuer of the queue of `pwq` is called.
void tell_mayday(const pool_workqueue& pwq) noexcept;

/// An item while it runs. On the stack of the thread that runs it.
class observed_run {
public:
    /// `step`: of the queue, which says whether it is observed. Otherwise no member does anything.
    observed_run(run_record& self, const item_name& item, sampling_step step) noexcept
        : self_(self), item_(item), outer_(self.observed), observed_(step == observe_all) {
        if (observed_) begin();
    }
    observed_run(const observed_run&) = delete;
    observed_run& operator=(const observed_run&) = delete;

    /// The item has ended, and has taken that CPU time, in nanoseconds.
    void end(std::int64_t cpu_time) noexcept {
        if (observed_) finish(cpu_time);
    }
    void block(block_reason why) noexcept;
    void unblock() noexcept;

private:
    void begin() noexcept;
    void finish(std::int64_t cpu_time) noexcept;
    void tell_noticed_block() noexcept;
    template <class F>
    void tell(std::int64_t time, const F& f, std::int64_t cpu_time = 0) const noexcept;

    run_record& self_;
    item_name item_;
    observed_run* const outer_; // the item that waits while this one runs in its place
    const bool observed_;
    std::int64_t began_ = 0; // steady clock
};

/// The item that the calling thread runs, if any, is about to block, or goes on.
inline void note_block(block_reason why) noexcept {
    const run_record* const run = own_run();
    if (run == nullptr) return;
    CMWQ_PROBE(block, run->own_item, run->function.load(relaxed), why);
    if (run->observed != nullptr) run->observed->block(why);
}
inline void note_unblock() noexcept {
    const run_record* const run = own_run();
    if (run == nullptr) return;
    CMWQ_PROBE(unblock, run->own_item, run->function.load(relaxed));
    if (run->observed != nullptr) run->observed->unblock();
}

}}} // namespace cmwq::CMWQ_NS::detail
