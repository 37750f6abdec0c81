// SPDX-License-Identifier: BSL-1.0
//
// The actions of items.
#include "calls.hpp"
#include "kinds.hpp"
#include "posts.hpp"
#include "run.hpp"
#include "world.hpp"

#include <cmwq/bh.hpp>
#include <cmwq/blocking_region.hpp>
#include <cmwq/this_work.hpp>

#include <chrono>
#include <stdexcept>

using namespace std::chrono_literals;

namespace soak {

namespace {

std::chrono::microseconds a_while() { return std::chrono::microseconds{dice().below(150)}; }

cmwq::block_kind some_block() { return dice().one_in(2) ? cmwq::may_block : cmwq::will_block; }

void burn(const run&) {
    does(op::burns, [] { stress::burn(dice().below(dice().one_in(16) ? 500'000 : 10'000)); });
}

/// Keeps its CPU until it counts as a CPU hog.
void hog(const run& r) {
    if (r.w.stopping() || !dice().one_in(16)) return;
    does(op::burns, [] { stress::burn(5'000'000); });
}

void block(const run&) {
    does(op::blocks, [] { stress::block_for(a_while()); });
}

void block_announced(const run&) {
    does(op::blocks_announced, [] {
        const cmwq::blocking_region outer{some_block()};
        if (dice().one_in(4)) {
            const cmwq::blocking_region inner{some_block()};
            stress::block_for(a_while());
        }
        if (dice().one_in(4)) cmwq::blocking([] { stress::burn(1000); });
        stress::block_for(a_while());
    });
}

/// Uses a queue of any level, because no thread waits here.
void queue_another(const run& r) {
    if (r.w.stopping()) return;
    slot& s = r.w.some_slot();
    const visit inside(s.in_use);
    if (!inside) return;
    switch (dice().below(3)) {
    case 0: post(r.w, *s.queue, s.level); break;
    case 1: fleeting(r.w, *s.queue, s.level); break;
    case 2: async(r.w, *s.queue, s.level, false); break;
    }
}

/// Uses any item, even the calling item or an item of a higher level.
void poke(const run& r) {
    if (r.w.stopping()) return;
    shared_place& p = r.w.some_shared();
    if (const visit inside(p.in_use); inside) p.item->poke();
}

void in_a_guard(const run& r) {
    does(op::bh_guard, [&] {
        const cmwq::bh_disable_guard hold;
        for (unsigned n = dice().below(4); n != 0; --n) queue_another(r);
    });
}

void change_own_queue(const run& r) {
    if (r.queue == nullptr) return;
    if (r.queue->is.has_limit) does(op::set_max_active, [&] { r.queue->set_max_active(1 + dice().below(8)); });
    if (r.queue->is.has_attrs) {
        try {
            does(op::apply, [&] { r.queue->apply(some_attrs(dice(), r.w.machine.cpus())); });
        } catch (const std::invalid_argument&) { // impossible attributes, or the queue is being destroyed
        }
    }
}

void describe(const run&) {
    does(op::describe, [] { cmwq::this_work::describe("one of the items that the soak makes run"); });
}

void wait_below(const run& r) {
    if (r.level == 0 || r.w.machine.max_threads() != 0) return;
    if (dice().one_in(4)) {
        slot& s = r.w.some_slot(dice().below(r.level));
        const visit inside(s.in_use);
        if (!inside) return;
        if (dice().one_in(4)) does(op::drain, [&] { s.queue->drain(); });
        else does(op::flush, [&] { s.queue->flush(); });
        return;
    }
    shared_place& p = r.w.some_shared(r.level);
    if (const visit inside(p.in_use); inside) p.item->wait();
}

/// Not in ordered queues, which refuse it. Not in bound queues: on a simulated machine, the workers of a CPU run on
/// any, so tasks go to other CPUs, where they wait for the limit behind items that wait for their own tasks.
void wait_for_tasks(const run& r) {
    if (r.queue == nullptr || !r.queue->is.has_attrs || r.queue->is.order == order::whole || r.w.stopping()) return;
    fork_and_join(r.w, *r.queue, true);
}

/// Not with few threads: it may be in another pool, which gets none.
void wait_for_inner_item(const run& r) {
    if (r.w.machine.max_threads() != 0) return;
    if (r.queue == nullptr || r.queue->is.kind != cmwq::elastic::name || r.w.stopping()) return;
    queue_and_wait(r.w, *r.queue);
}

void wait_for_itself(const run& r) {
    if (r.queue == nullptr) return;
    does(op::misuse, [&] {
        expect_refusal(
            r.w.complain, [&] { r.queue->flush(); }, std::errc::resource_deadlock_would_occur,
            std::errc::operation_not_permitted, "an item flushes its own queue");
    });
}

void fail(const run& r) {
    if (r.queue == nullptr) return;
    does(op::throws, [&] {
        ++r.queue->thrown;
        throw planned_exception{};
    });
}

struct habit {
    unsigned weight;
    bool blocks;
    void (*f)(const run&);
};

constexpr habit habits[] = {
    {12, false, burn},         {2, false, hog},
    {4, true, block},          {4, true, block_announced},
    {6, false, queue_another}, {4, false, poke},
    {1, false, in_a_guard},    {1, false, change_own_queue},
    {8, true, wait_below},     {1, false, wait_for_itself},
    {1, false, describe},      {2, false, fail},
    {4, true, wait_for_tasks}, {4, true, wait_for_inner_item},
};
constexpr unsigned nothing = 24;

} // namespace

void behave(const run& r) {
    constexpr unsigned sum = [] {
        unsigned n = nothing;
        for (const habit& h : habits) n += h.weight;
        return n;
    }();
    unsigned at = dice().below(sum);
    for (const habit& h : habits) {
        if (at < h.weight) {
            if (!h.blocks || (r.queue != nullptr && r.queue->is.may_block)) h.f(r);
            return;
        }
        at -= h.weight;
    }
}

} // namespace soak
