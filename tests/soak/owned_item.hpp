// SPDX-License-Identifier: BSL-1.0
//
// An item with one owner at a time. The owner knows its exact state, so it can check every result.
#pragma once

#include "in_use.hpp"
#include "queues.hpp"

#include <cmwq/delayed_work.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace soak {

class world;

class owned_item {
public:
    owned_item(world& w, unsigned l) : w_(w), level(l) { make(); }

    /// For the owner: does some operations on one queue, in any order. Afterwards the item is idle again.
    void episode(any_queue& q);
    /// For the owner: only queues the item, so that it runs. False: it was rejected.
    [[nodiscard]] bool queue_once(any_queue& q);
    /// For the owner: checks that every queued instance has run or was cancelled.
    void expect_settled(any_queue& q, const char* what);

private:
    world& w_;

public:
    const unsigned level;
    soak::in_use owner; ///< closed while the item has an owner

private:
    struct call {
        owned_item& i;
        void operator()() { i.run(); }
    };

    void run();
    void expect_answer(any_queue& q, cmwq::queue_status s, const drain_watch& drains);
    void publish();
    void note_accepted();
    void make();
    void replace(any_queue& q);
    void step(any_queue& q);
    void queue_somehow(any_queue& q);
    void queue_far_away(any_queue& q);
    void not_before_its_time(any_queue& q);
    void cancel(any_queue& q);
    void disabled(any_queue& q);
    void settle(any_queue& q);
    void note_cancel(bool was_pending);

    // Used by the owner only.
    std::uint64_t queued_ = 0, cancelled_ = 0;
    unsigned depth_ = 0;
    bool idle_ = true;                      // the owner knows that the item is neither pending nor running
    bool taken_away_ = false;               // the instance that was queued last was cancelled
    std::uint64_t ticket_ = 0, stamp_ = 0;  // numbers of the last attempt to queue it and of the last accepted one
    std::uint64_t payload_ = 0, sent_ = 0;  // written while it is idle, so not atomic; of the last accepted attempt
    const cmwq::work_base* self_ = nullptr; // changes only while the item is idle

    // Written by the runs; the owner reads them after a wait.
    std::uint64_t ran_ = 0, seen_payload_ = 0;
    std::int64_t started_ = 0;

    std::atomic<std::uint64_t> wanted_{0}, seen_{0}; // relaxed: queue() publishes even if the item was already pending
    std::atomic<bool> inside_{false};
    std::optional<cmwq::delayed_work<call>> work_;
};

} // namespace soak
