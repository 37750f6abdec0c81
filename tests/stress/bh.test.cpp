// SPDX-License-Identifier: BSL-1.0
//
// Several threads use bottom halves at random, on both priorities and all CPUs: queue, queue_on, timers, cancel, flush,
// guards, items that queue items. No item is lost, no item runs twice, and each context runs one item at a time.
#include "catch.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace {

using queue = cmwq::workqueue<cmwq::bh>;

/// The context of one priority on one CPU: at most one item is inside at a time.
struct context {
    std::atomic<int> inside{0};
    std::uint64_t plain = 0; // not atomic on purpose: a wrong sum or a data race shows two runs at once
};

/// All contexts of a runtime, by the pool in which an item runs.
class contexts {
public:
    explicit contexts(stress::complaints& c) : complaints_(c) {}

    template <class F>
    void run(cmwq::priority p, F&& f) {
        // This uses the library's internal record of the calling thread, because no public function returns the CPU of
        // the context.
        const unsigned cpu = cmwq::detail::this_thread_slots().current_run->pool.number();
        context& c = all_[cpu % all_.size()][static_cast<std::size_t>(p)];
        complaints_.expect(c.inside.fetch_add(1) == 0, "a context runs two items at once");
        ++c.plain;
        std::forward<F>(f)();
        c.inside.fetch_sub(1);
    }
    [[nodiscard]] std::uint64_t counted_plainly() const {
        std::uint64_t n = 0;
        for (const auto& both : all_) n += both[0].plain + both[1].plain;
        return n;
    }

private:
    stress::complaints& complaints_;
    std::array<std::array<context, 2>, 64> all_;
};

struct tally {
    std::atomic<std::uint64_t> queued{0}, cancelled{0}, runs{0};
    void note(queue_status s) {
        if (s == queue_status::queued) ++queued;
    }
};

} // namespace

TEST_CASE("stress: no bottom half is lost or runs twice under random operations") {
    stress::complaints complaints;
    cmwq::runtime rt;
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    const auto nr_cpus = static_cast<unsigned>(cpus.size());
    if (cpus.back() >= 64) return;
    contexts all(complaints);
    std::array<tally, 2> tallies;
    constexpr unsigned nr_threads = 4, nr_items = 24;

    std::array<std::unique_ptr<queue>, 2> queues;
    for (unsigned p = 0; p < 2; ++p) {
        cmwq::options<cmwq::bh> o{.name = p == 0 ? "normal" : "high"};
        o.priority = p == 0 ? cmwq::priority::normal : cmwq::priority::high;
        queues[p] = std::make_unique<queue>(rt, std::move(o));
    }

    // An item belongs to one priority. Some items queue another item of any priority; such a chain ends by chance.
    struct entry {
        std::unique_ptr<stress::exclusive> once;
        std::unique_ptr<stress::random> dice;
        std::unique_ptr<cmwq::delayed_work<std::function<void()>>> item;
    };
    std::array<std::vector<entry>, 2> items;
    for (unsigned p = 0; p < 2; ++p) {
        for (unsigned i = 0; i < nr_items; ++i) {
            entry e;
            e.once = std::make_unique<stress::exclusive>(complaints);
            e.dice = std::make_unique<stress::random>(1000 + p * 100 + i);
            e.item = std::make_unique<cmwq::delayed_work<std::function<void()>>>([&, p, i] {
                entry& self = items[p][i];
                all.run(static_cast<cmwq::priority>(p), [&] {
                    self.once->run([&] {
                        ++tallies[p].runs;
                        stress::burn(self.dice->below(60));
                        if (!self.dice->one_in(3)) return;
                        const unsigned q = self.dice->below(2);
                        auto& next = *items[q][self.dice->below(nr_items)].item;
                        if (self.dice->one_in(8)) {
                            tallies[q].note(queues[q]->queue_on(cpus[self.dice->below(nr_cpus)], next));
                        } else if (self.dice->one_in(32)) {
                            const cmwq::bh_disable_guard changes_nothing;
                            tallies[q].note(queues[q]->queue(next));
                        } else {
                            tallies[q].note(queues[q]->queue(next));
                        }
                    });
                });
            });
            items[p].push_back(std::move(e));
        }
    }

    stress::box box(400);
    stress::on_threads(nr_threads, [&](unsigned t) {
        stress::random r(t + 1);
        const auto one = [&] {
            const unsigned p = r.below(2);
            auto& w = *items[p][r.below(nr_items)].item;
            queue& q = *queues[p];
            switch (r.below(24)) {
            default: tallies[p].note(q.queue(w)); break;
            case 0:
            case 1: tallies[p].note(q.queue_on(cpus[r.below(nr_cpus)], w)); break;
            case 2: tallies[p].note(q.queue_after(std::chrono::microseconds{r.below(300)}, w)); break;
            case 3: tallies[p].note(q.modify(std::chrono::microseconds{r.below(300)}, w)); break;
            case 4:
                if (w.cancel()) ++tallies[p].cancelled;
                break;
            case 5:
                if (w.cancel_sync()) ++tallies[p].cancelled;
                break;
            case 6: w.flush(); break;
            case 7:
                if (r.one_in(16)) q.flush();
                break;
            case 8:
                if (w.disable()) ++tallies[p].cancelled;
                w.enable();
                break;
            }
        };
        while (box.open()) {
            for (int i = 0; i < 64; ++i) {
                if (!r.one_in(6)) {
                    one();
                    continue;
                }
                const cmwq::bh_disable_guard hold; // the operations inside may wait
                for (unsigned n = r.below(8); n-- != 0;) one();
                if (r.one_in(4)) {
                    const cmwq::bh_disable_guard nested;
                    one();
                }
            }
        }
    });
    queues[0]->drain();
    queues[1]->drain();
    queues[0]->drain(); // the items that the last items of the other queue have queued
    queues[0].reset();
    queues[1].reset();
    CHECK(complaints.text() == "");
    std::uint64_t runs = 0;
    for (unsigned p = 0; p < 2; ++p) {
        std::uint64_t finished = 0;
        for (entry& e : items[p]) {
            CHECK_FALSE(e.item->busy());
            CHECK(e.once->finished() == e.once->counted_plainly());
            finished += e.once->finished();
        }
        CHECK(finished == tallies[p].runs);
        CHECK(tallies[p].queued == tallies[p].runs + tallies[p].cancelled);
        runs += finished;
    }
    CHECK(all.counted_plainly() == runs);
    CHECK(rt.stats().items_completed == runs);
    CHECK(runs > 0);
}

TEST_CASE("stress: all bottom halves run while queues and runtimes come and go") {
    stress::complaints complaints;
    stress::box box(200);
    std::atomic<std::uint64_t> queued{0}, runs{0};
    std::uint64_t rounds = 0;
    stress::random r(7);
    while (box.open()) {
        std::optional<cmwq::runtime> rt;
        rt.emplace();
        const std::vector<unsigned> cpus{rt->cpus().begin(), rt->cpus().end()};
        std::optional<queue> q;
        q.emplace(*rt, "short-lived");
        stress::on_threads(3, [&](unsigned t) {
            stress::random mine(100 * rounds + t);
            for (unsigned n = mine.below(40); n-- != 0;) {
                const auto post = [&] {
                    const auto body = [&runs] { ++runs; };
                    const queue_status s = mine.one_in(2)
                                               ? q->post(body)
                                               : q->post_on(cpus[mine.below(static_cast<unsigned>(cpus.size()))], body);
                    if (s == queue_status::queued) ++queued;
                    complaints.expect(s == queue_status::queued, "refused");
                };
                if (mine.one_in(3)) {
                    const cmwq::bh_disable_guard held;
                    post();
                    post();
                } else {
                    post();
                }
            }
        });
        if (r.one_in(2)) q->flush();
        q.reset(); // the remaining items run
        complaints.expect(runs == queued, "the queue is destroyed and an item has not run");
        rt.reset();
        ++rounds;
    }
    CHECK(complaints.text() == "");
    CHECK(runs == queued);
    CHECK(rounds > 0);
}

TEST_CASE("stress: bound items queue bottom halves that run beside them") {
    stress::complaints complaints;
    cmwq::runtime rt;
    cmwq::workqueue<> events{rt, "events"};
    queue fast{rt, "fast"};
    std::atomic<std::uint64_t> queued{0}, runs{0};
    stress::exclusive exclusive(complaints);
    cmwq::work shared{[&] { exclusive.run([&] { ++runs; }); }};
    std::atomic<bool> stop{false};
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> bound;
    for (unsigned i = 0; i < 4; ++i) {
        auto dice = std::make_shared<stress::random>(50 + i);
        bound.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i, dice] {
            cmwq::work_base* const me = cmwq::this_work::current();
            for (int n = 0; n < 50; ++n) {
                if (fast.queue(shared) == queue_status::queued) ++queued;
                complaints.expect(cmwq::this_work::current() == me, "this_work::current() is not the bound item again");
                if (dice->one_in(20)) {
                    const cmwq::blocking_region io;
                    stress::block_for(20us);
                }
            }
            if (!stop) events.queue(*bound[i]);
        }));
    }
    stress::box box(50'000);
    for (auto& w : bound) events.queue(*w);
    stress::on_threads(1, [&](unsigned) {
        while (box.open()) {
            if (fast.queue(shared) == queue_status::queued) ++queued;
        }
    });
    stop = true;
    events.drain();
    fast.drain();
    CHECK(complaints.text() == "");
    CHECK(runs == queued);
    CHECK(exclusive.counted_plainly() == queued);
}
