// SPDX-License-Identifier: BSL-1.0
//
// fork() under a freeze: no item of a freezable queue holds a lock or is in the middle of a change, so the child can
// use the data that these items share with the parent.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "fork.hpp"
#include "freezable.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;

namespace {

/// The data that the items share: money moves from one account to another under a lock, in two steps.
class bank {
public:
    void transfer(std::size_t n) {
        const std::lock_guard g(lock_);
        accounts_[n % accounts_.size()] -= 7;
        std::this_thread::yield(); // a fork() at this point leaves a wrong sum and a locked lock in the child
        accounts_[(n * n + 1) % accounts_.size()] += 7;
        ++transfers_;
    }
    [[nodiscard]] int transfers() {
        const std::lock_guard g(lock_);
        return transfers_;
    }
    /// Whether it is unlocked and no money is lost.
    [[nodiscard]] bool sound() {
        if (!lock_.try_lock()) return false;
        const std::lock_guard g(lock_, std::adopt_lock);
        return std::accumulate(accounts_.begin(), accounts_.end(), 0) == 0;
    }

private:
    std::mutex lock_;
    std::array<int, 13> accounts_{};
    int transfers_ = 0;
};

} // namespace

// proves: life-8
POLICY_TEST_CASE(
    "freeze: after fork() under a guard the child finds the shared data of the items consistent and unlocked", "",
    threaded_policies) {
    bank shared;
    freezable_world w{policy};
    constexpr int rounds = 8, each = 150;
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items;
    for (std::size_t i = 0; i < rounds * each; ++i)
        items.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&shared, i] { shared.transfer(i); }));
    int queued = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < each; ++i, ++queued) w.q.queue(*items[static_cast<std::size_t>(queued)]);
        std::optional<cmwq::freeze_guard> still{std::in_place, w.rt};
        const int done = shared.transfers();
        const outcome o = in_child([&] {
            findings f;
            f.expect(1, shared.sound(), "locked, or a transfer is incomplete");
            f.expect(2, shared.transfers() == done, "not the data of the parent");
            f.expect(4, w.rt.frozen() && w.rt.wait_frozen(), "the parent's runtime is not frozen in the child");
            still.reset(); // thaws nothing in the child
            // The child makes the transfers that the items of the parent have not made yet.
            for (auto& item : items) {
                if (item->cancel()) shared.transfer(1);
            }
            f.expect(8, shared.transfers() == queued && shared.sound(), "not every item has run or was pending");
            return f.wrong();
        });
        INFO(o.stderr_text);
        CHECK(o.exited_with(0));
        CHECK(w.rt.frozen());
        CHECK(shared.transfers() == done);
    }
    w.q.flush();
    CHECK(shared.transfers() == rounds * each);
    CHECK(shared.sound());
}

// ThreadSanitizer cannot follow threads that are started after a fork() of a program with threads.
#if !defined(__SANITIZE_THREAD__)

POLICY_TEST_CASE("freeze: the child of a fork() under a guard can use queues of its own", "", threaded_policies) {
    bank shared;
    freezable_world w{policy};
    for (std::size_t i = 0; i < 100; ++i) w.q.post([&shared, i] { shared.transfer(i); });
    const cmwq::freeze_guard still{w.rt};
    const int done = shared.transfers();
    const outcome o = in_child([&] {
        findings f;
        f.expect(1, w.q.post([] {}) == queue_status::rejected, "the parent's queue accepts an item");
        w.q.flush(); // does not wait for the thaw
        w.q.drain();
        f.expect(1, w.q.shutdown(cmwq::cancel_pending) == 0, "the parent's queue drops an item");
        any_queue fresh{policy, freezable(policy)}; // not frozen: it is in another runtime
        f.expect(2, !cmwq::runtime::global().frozen(), "the child's runtime is frozen");
        for (std::size_t i = 0; i < 100; ++i) fresh.post([&shared, i] { shared.transfer(i); });
        fresh.flush();
        f.expect(4, shared.transfers() == done + 100 && shared.sound(), "not every item of the child has run");
        {
            const cmwq::freeze_guard own{cmwq::runtime::global()};
            fresh.post([&shared] { shared.transfer(1); });
            f.expect(8, cmwq::runtime::global().frozen(), "the child cannot freeze");
        }
        fresh.flush();
        f.expect(8, shared.transfers() == done + 101, "the child cannot thaw");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("freeze: an item of another queue may fork under a guard") {
    bank shared;
    freezable_world w{policy_of<cmwq::bound>};
    for (std::size_t i = 0; i < 500; ++i) w.q.post([&shared, i] { shared.transfer(i); });
    std::atomic<int> status{-1};
    w.other.post([&] {
        const cmwq::freeze_guard still{w.rt};
        const int one = status_of_child([&] { return shared.sound() ? 5 : 1; });
        status = WIFEXITED(one) ? WEXITSTATUS(one) : -1;
    });
    w.other.flush();
    CHECK(status == 5);
    w.q.flush();
    CHECK(shared.transfers() == 500);
}

#endif
