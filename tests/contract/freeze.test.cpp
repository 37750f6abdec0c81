// SPDX-License-Identifier: BSL-1.0
//
// Freezing: what runs out, what stands still, who may wait for that, and that the thaw gives all of it back.
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <system_error>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

bool is_deadlock(const std::system_error& e) { return e.code() == std::errc::resource_deadlock_would_occur; }

} // namespace

TEST_CASE("freeze: what is active runs out, the rest stands still, in order, until the last thaw") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::ordered> q{rt, {.name = "q", .freezable = true}};
    cmwq::workqueue<cmwq::ordered> other{rt, "other"};
    std::binary_semaphore begun{0}, leave{0};
    std::vector<int> order; // plain: one at a time
    q.post([&] {
        begun.release();
        leave.acquire();
        order.push_back(0);
    });
    begun.acquire();
    CHECK_FALSE(rt.frozen());
    CHECK_FALSE(rt.wait_frozen()); // nobody has frozen anything
    rt.freeze();
    rt.freeze(); // they nest
    for (int i = 1; i <= 10; ++i) q.post([&order, i] { order.push_back(i); });
    CHECK_FALSE(rt.frozen()); // the first item is inside
    CHECK_FALSE(rt.wait_frozen_for(1ms));
    leave.release();
    CHECK(rt.wait_frozen());
    CHECK(rt.frozen());
    CHECK(order.size() == 1);
    std::atomic<bool> passed{false};
    other.post([&] { passed = true; }); // who is not freezable does not notice
    other.flush();
    CHECK(passed);
    rt.thaw();
    CHECK(rt.frozen());
    CHECK(order.size() == 1);
    rt.thaw();
    CHECK_FALSE(rt.frozen());
    q.flush();
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK_THROWS_AS(rt.thaw(), std::logic_error); // one too many
}

TEST_CASE("freeze: a queue that is made while its runtime is frozen starts with the thaw") {
    cmwq::runtime rt;
    std::atomic<bool> ran{false};
    rt.freeze();
    cmwq::workqueue<> q{rt, {.name = "late", .freezable = true}};
    q.post([&] { ran = true; });
    CHECK(rt.wait_frozen());
    CHECK_FALSE(ran);
    rt.thaw();
    q.flush();
    CHECK(ran);
}

TEST_CASE("freeze: an item of a freezable queue cannot wait for the freeze, and a guard in it thaws again") {
    cmwq::runtime rt;
    cmwq::workqueue<> freezable{rt, {.name = "freezable", .freezable = true}};
    cmwq::workqueue<> q{rt, "q"};
    const bool by_guard = GENERATE(false, true);
    std::atomic<int> refused{0};
    const auto wait = [&] {
        try {
            if (by_guard) {
                const cmwq::freeze_guard still{rt};
                FAIL_CHECK("an item waits for its own end");
            } else {
                static_cast<void>(rt.wait_frozen());
                FAIL_CHECK("an item waits for its own end");
            }
        } catch (const std::system_error& e) {
            refused += is_deadlock(e) ? 1 : 0;
        }
    };
    freezable.post(wait);
    freezable.flush(); // with the guard: nothing is left frozen
    CHECK(refused == 1);
    CHECK_THROWS_AS(rt.thaw(), std::logic_error);

    std::atomic<bool> may{false};
    q.post([&] { // of another queue it can
        const cmwq::freeze_guard still{rt};
        may = rt.frozen();
    });
    q.flush();
    CHECK(may);
}

TEST_CASE("freeze: a bottom half must not wait for it") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "halves"};
    std::atomic<bool> refused{false};
    q.post([&] {
        try {
            static_cast<void>(rt.wait_frozen());
        } catch (const std::system_error& e) {
            refused = e.code() == std::errc::operation_not_permitted;
        }
    });
    q.flush();
    CHECK(refused);
}

TEST_CASE("freeze: in a child of fork() nothing runs, so everything is frozen, and nothing waits") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, {.name = "q", .freezable = true}};
    std::atomic<bool> ran{false};
    q.post([&] { ran = true; });
    q.flush();
    const cmwq::freeze_guard still{rt};
    const outcome o = in_child([&] {
        findings f;
        rt.freeze();
        rt.thaw();
        f.expect(1, rt.frozen(), "not frozen");
        f.expect(2, rt.wait_frozen(), "wait_frozen() finds it not frozen");
        f.expect(4, rt.dump().empty(), "a dump of threads that are not there");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}
