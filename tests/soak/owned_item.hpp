// SPDX-License-Identifier: BSL-1.0
//
// An item with one owner at a time. The owner knows its exact state, so it can check every answer.
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

    /// By the owner: some operations on one queue, in any order. Afterwards the item is idle again.
    void episode(any_queue& q);
    /// By the owner: only queue it, so that it runs. False: it was rejected.
    [[nodiscard]] bool queue_once(any_queue& q);
    /// By the owner: every queued instance has run.
    void expect_settled(any_queue& q, const char* what);

private:
    world& w_;

public:
    const unsigned level;
    soak::in_use owner; ///< closed while it has one

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

    // The owner's.
    std::uint64_t queued_ = 0, cancelled_ = 0;
    unsigned depth_ = 0;
    bool idle_ = true;                      // neither pending nor running, and the owner knows
    bool taken_away_ = false;               // the instance that was queued last
    std::uint64_t ticket_ = 0, stamp_ = 0;  // of all attempts to queue it, of the last that was accepted
    std::uint64_t payload_ = 0, sent_ = 0;  // written while it is idle: plain. Of the last that was accepted
    const cmwq::work_base* self_ = nullptr; // changes while it is idle

    // Of its runs; the owner reads them after a wait.
    std::uint64_t ran_ = 0, seen_payload_ = 0;
    std::chrono::steady_clock::time_point started_{};

    std::atomic<std::uint64_t> wanted_{0}, seen_{0}; // relaxed: queue() publishes, also when it was pending already
    std::atomic<bool> inside_{false};
    std::optional<cmwq::delayed_work<call>> work_;
};

} // namespace soak
