// SPDX-License-Identifier: BSL-1.0
//
// Closures and items that own themselves: no item is lost, no item runs twice, and no memory is left behind.
#include "catch.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace {

/// Counts its objects: all of them must be destroyed in the end.
struct census {
    explicit census(std::atomic<std::int64_t>& n) : alive(n) { ++alive; }
    census(const census& o) : alive(o.alive) { ++alive; }
    census& operator=(const census&) = delete;
    ~census() { --alive; }
    std::atomic<std::int64_t>& alive;
};

/// Deletes itself in its function and then calls `F`, which it has moved to the stack because the item no longer
/// exists.
template <class F>
struct selfish {
    struct call {
        selfish& s;
        void operator()() {
            F mine = std::move(s.f);
            delete &s;
            mine();
        }
    };
    selfish(F f_, std::atomic<std::int64_t>& n) : f(std::move(f_)), counted(n) {}
    F f;
    census counted;
    cmwq::delayed_work<call> item{call{*this}};
};

/// A link of a chain: it destroys itself, and then makes and queues the next link.
struct chain_link {
    cmwq::workqueue<>* queue;
    std::atomic<std::uint64_t>* runs;
    std::atomic<std::int64_t>* alive;
    unsigned left;

    void operator()() const {
        ++*runs;
        if (left == 0) return;
        auto* next = new selfish<chain_link>({queue, runs, alive, left - 1}, *alive);
        if (queue->queue(next->item) != queue_status::queued) delete next;
    }
};

} // namespace

TEST_CASE("stress: several threads post many closures") {
    cmwq::runtime rt;
    cmwq::workqueue<> narrow{rt, {.name = "narrow", .max_active = 2}}, wide{rt, "wide"};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    std::atomic<std::uint64_t> posted{0}, ran{0};
    std::atomic<std::int64_t> alive{0};
    stress::complaints complaints;
    const stress::box box;
    stress::on_threads(3, [&](unsigned t) {
        stress::random r(t);
        while (box.open()) {
            cmwq::workqueue<>& q = r.one_in(2) ? narrow : wide;
            const auto burst = 1 + r.below(400);
            for (unsigned i = 0; i < burst; ++i) {
                const auto f = [&ran, c = census(alive)] { ++ran; };
                const queue_status s =
                    r.one_in(2) ? q.post(f) : q.post_on(cpus[r.below(static_cast<unsigned>(cpus.size()))], f);
                complaints.expect(s == queue_status::queued, "a post was refused");
                ++posted;
            }
            if (r.one_in(4)) q.flush(); // bounds the number of pending closures
        }
        complaints.expect(wide.post_on(4096, [&ran, c = census(alive)] { ++ran; }) == queue_status::rejected,
                          "posted on a CPU that does not exist");
    });
    narrow.drain();
    wide.drain();
    CHECK(complaints.text() == "");
    CHECK(ran == posted);
    CHECK(posted > 0);
    CHECK(alive == 0);
}

TEST_CASE("stress: items delete themselves at once and by timer") {
    cmwq::runtime rt;
    std::atomic<std::uint64_t> made{0}, ran{0};
    std::atomic<std::int64_t> alive{0};
    stress::complaints complaints;
    {
        cmwq::workqueue<> q{rt, {.name = "q", .max_active = 4}};
        const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
        const stress::box box;
        stress::on_threads(3, [&](unsigned t) {
            stress::random r(30 + t);
            while (box.open()) {
                for (int i = 0; i < 100; ++i) {
                    const auto count = [&ran] { ++ran; };
                    auto* s = new selfish<decltype(count)>(count, alive);
                    ++made;
                    const queue_status done =
                        r.one_in(4)   ? q.queue_after(std::chrono::microseconds{r.below(500)}, s->item)
                        : r.one_in(2) ? q.queue(s->item)
                                      : q.queue_on(cpus[r.below(static_cast<unsigned>(cpus.size()))], s->item);
                    complaints.expect(done == queue_status::queued, "refused");
                }
                if (r.one_in(8)) q.flush();
            }
        });
    } // the destructor drains and brings the timers forward
    CHECK(complaints.text() == "");
    CHECK(ran == made);
    CHECK(made > 0);
    CHECK(alive == 0);
}

TEST_CASE("stress: chains of items run to their end while their queue is destroyed") {
    cmwq::runtime rt;
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::int64_t> alive{0};
    std::uint64_t expected = 0;
    stress::random r(50);
    const stress::box box;
    while (box.open()) {
        cmwq::workqueue<> q{rt, {.name = "q", .max_active = 1 + r.below(8)}};
        const unsigned chains = 1 + r.below(6);
        for (unsigned i = 0; i < chains; ++i) {
            const unsigned length = r.below(200);
            const chain_link first{&q, &runs, &alive, length};
            expected += length + 1;
            if (r.one_in(2)) q.post(first);
            else if (r.one_in(2)) {
                auto* s = new selfish<chain_link>(first, alive);
                q.queue_after(1h, s->item);
            } else {
                auto* s = new selfish<chain_link>(first, alive);
                q.queue(s->item);
            }
        }
    }
    CHECK(runs == expected);
    CHECK(alive == 0);
}

TEST_CASE("stress: a new item at the address of a destroyed item is a different item") {
    stress::complaints complaints;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    std::optional<cmwq::work<std::function<void()>>> slot;
    std::atomic<std::uint64_t> rounds{0}, ran{0};
    const auto second = [&ran] { ++ran; };
    const auto replace = [&] { // outside of the item, because the item is destroyed in it
        ++ran;
        slot.reset();
        slot.emplace(second);
        complaints.expect(!slot->busy(), "a new item is busy");
        try {
            complaints.expect(!slot->cancel_sync(), "a new item was pending");
        } catch (const std::system_error&) {
            complaints.expect(false, "a new item treats the run of its predecessor as its own");
        }
        complaints.expect(q.queue(*slot) == queue_status::queued, "refused");
    };
    const stress::box box;
    for (; box.open(); ++rounds) {
        slot.emplace(std::ref(replace));
        complaints.expect(q.queue(*slot) == queue_status::queued, "refused");
        q.drain();
        slot.reset();
    }
    CHECK(complaints.text() == "");
    CHECK(ran == 2 * rounds);
}
