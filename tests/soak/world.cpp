// SPDX-License-Identifier: BSL-1.0
#include "world.hpp"

#include "eventually.hpp"
#include "kinds.hpp"
#include "operations.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <cmwq/this_work.hpp>

namespace soak {

namespace {

constexpr unsigned slots_per_level = 4, shared_per_level = 4, owned_per_level = 6;

} // namespace

world::world(const settings& s, complaints& c) : complain(c), settings_(s), machine(dice()), victim_(0, kinds_of(0)) {
    fill(victim_);
    for (unsigned level = 0; level < nr_levels; ++level) {
        for (unsigned i = 0; i < slots_per_level; ++i) fill(slots_.emplace_back(level, kinds_of(level)));
    }
    for (unsigned level = 0; level < nr_levels; ++level) {
        for (unsigned i = 0; i < shared_per_level; ++i) {
            shared_place& p = shared_.emplace_back(level, i % 2 == 0 ? &some_slot(level) : nullptr);
            p.item = std::make_unique<shared_item>(*this, level, p.home);
        }
        for (unsigned i = 0; i < owned_per_level; ++i) owned_.emplace_back(*this, level);
    }
}

world::~world() = default;

std::vector<const queue_kind*> world::kinds_of(unsigned level) const {
    std::vector<const queue_kind*> all;
    for (const queue_kind& k : queue_kinds()) {
        // Items that must not wait run on the lowest level, because items of this level wait for no other item.
        const bool wanted =
            settings_.kinds.empty() || std::ranges::find(settings_.kinds, k.name) != settings_.kinds.end();
        if (wanted && (k.may_block || level == 0)) all.push_back(&k);
    }
    // Only bottom halves were requested: they may have any level, because they never wait.
    if (all.empty()) all.push_back(&queue_kinds().back());
    return all;
}

std::unique_ptr<any_queue> world::make_queue(const std::vector<const queue_kind*>& kinds) {
    return does(op::queue_made, [&]() -> std::unique_ptr<any_queue> {
        try {
            return kinds[dice().below(static_cast<unsigned>(kinds.size()))]->make(machine, complain, dice());
        } catch (const std::system_error&) {
            return nullptr;
        }
    });
}

void world::fill(slot& s) {
    while (!(s.queue = make_queue(s.kinds))) {} // the thread of a rescuer may be refused
    s.books.store(s.queue.get(), std::memory_order_relaxed);
    s.front.store(&s.queue->front(), std::memory_order_release);
}

void world::empty(slot& s) {
    does(op::queue_destroyed, [&] { s.queue->destroy(); });
    // This comes before the memory is freed, because another queue may get the same address.
    s.front.store(nullptr, std::memory_order_release);
    for (const reliable_item& i : s.queue->reliable) {
        entered.add(i.nr_runs());
        left.add(i.nr_runs());
    }
    s.queue.reset();
}

void world::replace(slot& s) {
    if (const alone here(s.in_use); here) {
        empty(s);
        fill(s);
    }
}

void world::replace(shared_place& p) {
    // Without a home the item may run on two queues, and its destructor knows only one of them.
    if (p.home == nullptr) return;
    const alone here(p.in_use);
    if (!here) return;
    const bool first = dice().one_in(2);
    if (first) does(op::cancel_sync, [&] { p.item->forget(); });
    does(op::item_destroyed, [&] { p.item->destroy(); });
    p.item->verify(!first);
    p.item = std::make_unique<shared_item>(*this, p.level, p.home);
}

any_queue* world::running_on() {
    const cmwq::workqueue_base* const front = cmwq::this_work::queue();
    if (front == nullptr) return nullptr; // the caller is not inside an item
    for (slot& s : slots_) {
        if (s.front.load(std::memory_order_acquire) == front) return s.books.load(std::memory_order_relaxed);
    }
    return nullptr;
}

slot& world::some_slot(unsigned level) { return slots_[level * slots_per_level + dice().below(slots_per_level)]; }

slot& world::some_slot() { return slots_[dice().below(static_cast<unsigned>(slots_.size()))]; }

shared_place& world::some_shared(unsigned below) { return shared_[dice().below(below * shared_per_level)]; }

owned_item& world::some_owned() { return owned_[dice().below(static_cast<unsigned>(owned_.size()))]; }

void world::run(unsigned n) {
    const std::uint64_t stream = dice()();
    stress::on_threads(settings_.threads, [&](unsigned t) {
        seed_this_thread(stream + t);
        user u{*this, t};
        for (unsigned i = 0; i < n; ++i) u.do_something();
    });
    stop_.store(true, std::memory_order_relaxed);
}

void world::settle() {
    const doing d(op::settles);
    // This needs several rounds: an item of one queue may have queued an item on another queue that was already
    // drained. From here on, items queue only items that queue no others.
    for (unsigned i = 0; i < nr_levels + 1; ++i) {
        victim_.queue->drain(); // its items queue items on the other queues
        for (slot& s : slots_) s.queue->drain();
    }
    for (shared_place& p : shared_) {
        complain.expect(!p.item->busy(), "a shared item is busy at the end");
        p.item->verify(false);
        try {
            p.item->enable();
            complain.add("a shared item was disabled more often than enabled");
        } catch (const std::logic_error&) { // disabled and enabled equally often
        }
    }
    for (slot& s : slots_) empty(s);
    empty(victim_);
    complain.expect_equal(entered, left, "runs that began, that ended");
    complain.expect_equal(made, gone, "objects made, objects destroyed");
    complain.expect_equal(accepted, ran, "items that destroy themselves: queued, run");
    complain.expect(chains == 0, "a chain is neither accepted nor rejected");
    const host::counts n = machine.stats();
    complain.expect_equal(n.started, entered, "runs that began: counts of the runtime and of the soak");
    complain.expect_equal(n.completed, entered, "runs that ended: counts of the runtime and of the soak");
    // Two threads for each CPU and priority, and a bottom-half thread for each CPU. Shared pools end with their last
    // user.
    const std::size_t resting = machine.cpus().size() * 7;
    const unsigned limit = machine.max_threads();
    // This count does not include the threads of bottom halves.
    complain.expect(limit == 0 || n.peak_threads <= limit + machine.cpus().size(), "more threads than max_threads");
    complain.expect(cmwq_test::eventually([&] { return machine.stats().threads <= resting; }), "threads do not end");
}

} // namespace soak
