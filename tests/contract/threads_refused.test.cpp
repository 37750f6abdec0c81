// SPDX-License-Identifier: BSL-1.0
//
// The system has no further thread, as at RLIMIT_NPROC, at pids.max of a container, or without memory for stacks: a
// pool that needs a worker gets an idle one of another pool, because a place is free when that thread has ended.
#include "any_queue.hpp"
#include "catch.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <memory>
#include <semaphore>
#include <vector>

using namespace cmwq_test;
using kind = cmwq::event::kind;

namespace {

/// As the system: refuses threads while so many exist.
class limited_threads final : public cmwq::thread_source {
public:
    explicit limited_threads(int error = EAGAIN, int most = unlimited) : error_(error), most_(most) {}

    int start(cmwq::thread_request& r) noexcept override {
        int n = exist_;
        do {
            if (n >= most_) {
                ++refused;
                return error_;
            }
        } while (!exist_.compare_exchange_weak(n, n + 1));
        return r.start(&begin, this);
    }
    void admit_no_more() { most_ = exist_.load(); }
    void admit_none() { most_ = 0; }
    void admit_any() { most_ = unlimited; }
    std::atomic<int> refused{0};

private:
    static constexpr int unlimited = 1 << 20;
    struct at_end {
        limited_threads* source = nullptr;
        ~at_end() {
            if (source != nullptr) --source->exist_;
        }
    };
    static void begin(void* self) {
        static thread_local at_end t;
        t.source = static_cast<limited_threads*>(self);
    }
    const int error_;
    std::atomic<int> exist_{0}, most_;
};

/// A runtime with an unbound pool that has workers.
struct donor {
    explicit donor(int error = EAGAIN) : source(error) {}

    /// So many of them are idle.
    void make_idle(int n) {
        std::latch all(n);
        for (int i = 0; i < n; ++i) q.post([&] { all.arrive_and_wait(); });
        q.flush();
    }
    /// One of them waits in an item, and one is its spare.
    void make_busy() {
        q.post([this] {
            entered.release();
            leave.acquire();
        });
        entered.acquire();
        REQUIRE(eventually([&] { return rt.stats().threads == 2; }));
    }

    limited_threads source;
    event_log events;
    std::counting_semaphore<> entered{0}, leave{0};
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &source}};
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "donor", .attrs = cmwq::attrs{}.nice(3)}};
};

/// A queue that waits for ever would keep the destructors from returning.
void comes_to(const std::atomic<int>& count, int wanted) {
    const bool all = eventually([&] { return count == wanted; });
    CHECK(all);
    if (!all) std::abort();
}

} // namespace

// proves: progress-35
POLICY_TEST_CASE("threads refused: a pool without workers gets an idle worker of another pool", "", threaded_policies) {
    donor d;
    d.make_idle(6);
    any_queue q{policy, d.rt, "q"};
    d.source.admit_no_more();
    std::atomic<int> ran{0};
    for (const unsigned cpu : d.rt.cpus()) q.post_on(cpu, [&] { ++ran; });
    comes_to(ran, static_cast<int>(d.rt.cpus().size()));
    CHECK(d.source.refused > 0);
    // The donor gets workers back in the same way.
    ran = 0;
    for (int i = 0; i < 10; ++i) d.q.post([&] { ++ran; });
    comes_to(ran, 10);
}

// proves: progress-35
POLICY_TEST_CASE("threads refused: a pool without workers gets even the spare of another pool", "", threaded_policies) {
    donor d;
    d.make_busy();
    any_queue q{policy, d.rt, "q"};
    d.source.admit_no_more();
    std::atomic<int> ran{0};
    q.post([&] { ++ran; });
    comes_to(ran, 1);
    d.leave.release();
    d.q.flush();
    CHECK(all_told(d.rt));
    CHECK(d.events.count(kind::no_thread) >= 1);
}

// proves: progress-35
POLICY_TEST_CASE("threads refused: all workers of a pool block, and it gets the idle workers of another pool", "",
                 crowded_policies) {
    constexpr int idle = 8;
    donor d;
    any_queue q{policy, d.rt, "q"};
    const unsigned cpu = *d.rt.cpus().begin();
    std::atomic<int> inside{0};
    std::counting_semaphore<> leave{0};
    const auto wait = [&] {
        ++inside;
        const cmwq::blocking_region region;
        leave.acquire();
    };
    q.post_on(cpu, wait);
    comes_to(inside, 1);
    REQUIRE(eventually([&] { return d.rt.stats().threads == 2; })); // it and its spare
    d.make_idle(idle);
    d.source.admit_no_more();
    for (int i = 0; i < idle; ++i) q.post_on(cpu, wait);
    comes_to(inside, 1 + idle);
    leave.release(1 + idle);
    q.flush();
}

// proves: progress-35
TEST_CASE("threads refused: many pools in need take turns with the workers that exist") {
    donor d;
    d.make_idle(2);
    std::vector<std::unique_ptr<cmwq::workqueue<cmwq::unbound>>> queues;
    for (int i = 0; i < 8; ++i) {
        queues.push_back(std::make_unique<cmwq::workqueue<cmwq::unbound>>(
            d.rt, cmwq::options<cmwq::unbound>{.name = "q", .attrs = cmwq::attrs{}.nice(i - 4)}));
    }
    const unsigned before = d.rt.stats().threads;
    d.source.admit_no_more();
    std::atomic<int> ran{0};
    for (int round = 1; round <= 3; ++round) {
        for (const auto& q : queues) q->post([&] { ++ran; });
        comes_to(ran, 8 * round);
    }
    CHECK(d.rt.stats().threads <= before);
}

// Each worker that runs an item wants the sentinel of its CPU, and there is no thread for it.
// proves: progress-35
TEST_CASE("threads refused: sentinels do not take the places of the last workers") {
    constexpr int own_threads = 3; // of the runtime: those that serve, manage and watch
    const int nr_workers = GENERATE(1, 2);
    limited_threads source{EAGAIN, own_threads + nr_workers};
    cmwq::runtime rt{{.threads = &source}};
    std::vector<std::unique_ptr<cmwq::workqueue<cmwq::elastic>>> queues;
    for (int i = 0; i < 3; ++i) {
        queues.push_back(std::make_unique<cmwq::workqueue<cmwq::elastic>>(
            rt, cmwq::options<cmwq::elastic>{.name = "q", .attrs = cmwq::attrs{}.nice(i)}));
    }
    std::atomic<int> ran{0};
    for (int round = 1; round <= 60; ++round) {
        for (int i = 0; i < 6; ++i) {
            queues[static_cast<std::size_t>(round) % 3]->post([&] {
                stress::burn(200'000);
                ++ran;
            });
        }
        comes_to(ran, 6 * round);
    }
}

// proves: progress-35
TEST_CASE("threads refused: an item of a bottom half gets the thread of an idle worker") {
    donor d;
    d.make_idle(6);
    cmwq::workqueue<cmwq::bh> fast{d.rt, "fast"};
    d.source.admit_no_more();
    std::atomic<int> ran{0};
    // The caller runs the items of its own CPU; if it moves, it runs none.
    for (int n = 1; n <= 2; ++n) {
        for (const unsigned cpu : d.rt.cpus()) fast.post_on(cpu, [&] { ++ran; });
    }
    comes_to(ran, 2 * static_cast<int>(d.rt.cpus().size()));
}

// proves: progress-35
TEST_CASE("threads refused: a pool keeps its last worker when the end of others has not helped") {
    donor d;
    d.make_idle(1);
    cmwq::workqueue<cmwq::unbound> q{d.rt, "q"};
    d.source.admit_none();
    std::atomic<int> ran{0}, also_ran{0};
    q.post([&] { ++also_ran; });
    REQUIRE(eventually([&] { return d.source.refused >= 20; }));
    d.q.post([&] { ++ran; });
    comes_to(ran, 1);
    CHECK(also_ran == 0);
    d.source.admit_any();
    comes_to(also_ran, 1);
}

TEST_CASE("threads refused: no worker ends for a refusal that the end of a thread does not lift") {
    donor d{EPERM};
    d.make_idle(6);
    const unsigned before = d.rt.stats().threads;
    cmwq::workqueue<cmwq::unbound> q{d.rt, "q"};
    d.source.admit_no_more();
    std::atomic<int> ran{0};
    q.post([&] { ++ran; });
    REQUIRE(eventually([&] { return d.source.refused >= 5; }));
    CHECK(d.rt.stats().threads == before);
    CHECK(ran == 0);
    d.source.admit_any();
    comes_to(ran, 1);
}
