// SPDX-License-Identifier: BSL-1.0
//
// Every operation at random, from several threads at once, on items and queues that they share.
#include "catch.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace {

constexpr unsigned nr_threads = 4, nr_queues = 3, no_cpu = 4096;

struct world {
    stress::complaints complaints;
    cmwq::runtime rt;
    std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    cmwq::workqueue<> queues[nr_queues]{{rt, {.name = "a", .max_active = 1}},
                                        {rt, {.name = "b", .max_active = 3}},
                                        {rt, {.name = "c", .cpu_intensive = true}}};
    std::atomic<bool> stop{false};

    unsigned some_cpu(stress::random& r) const { return cpus[r.below(static_cast<unsigned>(cpus.size()))]; }

    void drain() {
        // Twice: an item of one queue may have queued one on another queue that was drained already.
        for (int i = 0; i < 2; ++i) {
            for (auto& q : queues) q.drain();
        }
    }
};

/// An item on which every thread does every operation, and which queues itself now and then. The answers of its
/// operations have to agree with the number of its runs.
struct shared_item {
    explicit shared_item(world& w, unsigned number) : exclusive(w.complaints), w_(w), dice_(1000 + number) {}

    void run() {
        exclusive.run([this] {
            if (dice_.one_in(8)) stress::burn(2000);
            if (dice_.one_in(64)) stress::block_for(100us);
            if (dice_.one_in(16) && !w_.stop) note(w_.queues[dice_.below(nr_queues)].queue(item));
        });
    }

    queue_status note(queue_status s) {
        if (s == queue_status::queued) ++queued;
        return s;
    }
    void note_cancel(bool was_pending) {
        if (was_pending) ++cancelled;
    }

    std::atomic<std::uint64_t> queued{0}, cancelled{0};
    stress::exclusive exclusive;

private:
    world& w_;
    stress::random dice_; // the item's own, safe because it never runs twice at once

    struct call {
        shared_item& i;
        void operator()() { i.run(); }
    };

public:
    cmwq::delayed_work<call> item{call{*this}};
};

void do_anything(world& w, shared_item& i, stress::random& r) {
    auto& q = w.queues[r.below(nr_queues)];
    const auto delay = std::chrono::microseconds{r.below(400)};
    switch (r.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3: i.note(q.queue(i.item)); break;
    case 4:
    case 5:
    case 6: i.note(q.queue_on(w.some_cpu(r), i.item)); break;
    case 7:
    case 8: i.note(q.queue_after(delay, i.item)); break;
    case 9: i.note(q.queue_after_on(w.some_cpu(r), delay, i.item)); break;
    case 10:
    case 11: {
        const queue_status s = q.modify(delay, i.item);
        w.complaints.expect(s != queue_status::already_pending, "modify() says already_pending");
        i.note(s);
        break;
    }
    case 12:
    case 13: i.note_cancel(i.item.cancel()); break;
    case 14: i.note_cancel(i.item.cancel_sync()); break;
    case 15: {
        i.note_cancel(i.item.disable());
        w.complaints.expect(q.queue(i.item) != queue_status::queued, "queued although disabled");
        i.item.enable();
        break;
    }
    case 16: {
        i.note_cancel(i.item.disable_sync());
        const std::uint64_t finished = i.exclusive.finished();
        w.complaints.expect(!i.exclusive.inside(), "runs after disable_sync()");
        w.complaints.expect(q.queue_on(w.some_cpu(r), i.item) != queue_status::queued, "queued although disabled");
        if (r.one_in(4)) stress::block_for(50us);
        w.complaints.expect(!i.exclusive.inside() && finished == i.exclusive.finished(), "ran although disabled");
        i.item.enable();
        break;
    }
    case 17: i.item.flush(); break;
    case 18:
        if (r.one_in(4)) q.flush();
        else q.set_max_active(1 + r.below(6));
        break;
    case 19:
        if (r.one_in(16)) q.drain();
        else
            w.complaints.expect(q.queue_on(no_cpu, i.item) != queue_status::queued,
                                "queued on a CPU that is not there");
        break;
    }
}

/// An item that every thread queues and no thread cancels: a thread that has queued it and then waits, for it or for
/// its queue, sees its run.
struct reliable_item {
    explicit reliable_item(world& w) : exclusive(w.complaints) {}

    void run() {
        exclusive.run([this] {
            for (unsigned t = 0; t < nr_threads; ++t) {
                seen[t].store(wanted[t].load(std::memory_order_relaxed), std::memory_order_relaxed);
            }
            stress::burn(500);
        });
    }

    // Relaxed: queue() publishes the one, and flush() receives the other.
    std::array<std::atomic<std::uint64_t>, nr_threads> wanted{};
    std::array<std::atomic<std::uint64_t>, nr_threads> seen{};
    std::atomic<std::uint64_t> queued{0};
    stress::exclusive exclusive;

private:
    struct call {
        reliable_item& i;
        void operator()() { i.run(); }
    };

public:
    cmwq::delayed_work<call> item{call{*this}};
};

} // namespace

TEST_CASE("stress: under random operations no item runs twice at once and every instance ran or was cancelled") {
    world w;
    std::vector<std::unique_ptr<shared_item>> items;
    for (unsigned i = 0; i < 6; ++i) items.push_back(std::make_unique<shared_item>(w, i));
    const stress::box box;
    stress::on_threads(nr_threads, [&](unsigned t) {
        stress::random r(t);
        while (box.open()) {
            for (int i = 0; i < 64; ++i) do_anything(w, *items[r.below(static_cast<unsigned>(items.size()))], r);
        }
    });
    w.stop = true;
    w.drain();
    std::uint64_t total = 0;
    for (const auto& i : items) {
        const std::uint64_t ran = i->exclusive.finished(), queued = i->queued, cancelled = i->cancelled;
        CAPTURE(queued, cancelled, ran);
        CHECK_FALSE(i->item.busy());
        CHECK(i->exclusive.counted_plainly() == ran);
        CHECK(ran + cancelled == queued);
        CHECK_THROWS_AS(i->item.enable(), std::logic_error); // as often enabled as disabled
        total += ran;
    }
    CHECK(w.complaints.text() == "");
    CHECK(total > 0);
    std::uint64_t started = 0, completed = 0;
    for (const auto& q : w.queues) {
        started += q.stats().started;
        completed += q.stats().completed;
    }
    CHECK(started == total);
    CHECK(completed == total);
    CHECK(w.rt.stats().items_completed == total);
}

TEST_CASE("stress: a thread that queues and flushes sees the run also if other threads queue the same item") {
    world w;
    std::vector<std::unique_ptr<reliable_item>> items;
    for (unsigned i = 0; i < 3; ++i) items.push_back(std::make_unique<reliable_item>(w));
    const stress::box box;
    stress::on_threads(nr_threads, [&](unsigned t) {
        stress::random r(100 + t);
        std::uint64_t stamp = 0;
        while (box.open()) {
            reliable_item& i = *items[r.below(static_cast<unsigned>(items.size()))];
            auto& q = w.queues[r.below(nr_queues)];
            i.wanted[t].store(++stamp, std::memory_order_relaxed);
            const bool later = r.one_in(4);
            const queue_status s = later         ? q.queue_after(std::chrono::microseconds{1 + r.below(300)}, i.item)
                                   : r.one_in(2) ? q.queue_on(w.some_cpu(r), i.item)
                                                 : q.queue(i.item);
            if (s == queue_status::queued) ++i.queued;
            if (s == queue_status::rejected) continue; // another thread drains
            if (s == queue_status::queued && !later && r.one_in(2)) q.flush();
            else i.item.flush();
            w.complaints.expect(i.seen[t].load(std::memory_order_relaxed) >= stamp,
                                "flush() returned before the run that it covers");
            if (r.one_in(32)) q.drain();
            if (r.one_in(16)) q.set_max_active(1 + r.below(4));
        }
    });
    w.drain();
    for (const auto& i : items) {
        CHECK(i->exclusive.finished() == i->queued);
        CHECK(i->exclusive.counted_plainly() == i->queued);
    }
    CHECK(w.complaints.text() == "");
}
