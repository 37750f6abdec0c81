// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/ds/timing_wheel.hpp>

#include <cmwq/detail/ds/timing_wheel.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "nanoseconds.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

using cmwq_test::second;

namespace {

struct timer : cmwq::detail::deadline_node {
    std::uint64_t armed = 0; // for the oracle: the number of the arming; 0: not armed
};
template <std::size_t Few>
using wheel_of = cmwq::detail::timing_wheel<timer, Few>;
using wheel = wheel_of<0>; // only timers that are due soon are in the heap

constexpr std::int64_t tick = wheel::tick, year = 31'557'600 * second;

timer due_at(std::int64_t deadline) {
    timer t;
    t.deadline = deadline;
    return t;
}

/// Turns the wheel until it has moved all that it may move now.
template <class Wheel>
void turn(Wheel& w, std::int64_t now) {
    while (w.turn(now)) {}
}

/// Takes all due timers out, in order.
template <class Wheel>
std::vector<timer*> expire(Wheel& w, std::int64_t now) {
    std::vector<timer*> all;
    do {
        while (timer* t = w.due(now)) {
            w.remove(*t);
            all.push_back(t);
        }
    } while (w.turn(now));
    return all;
}

} // namespace

TEST_CASE("timing_wheel: while the timers of a slot move, none is due before the slot begins") {
    wheel w;
    std::vector<timer> timers(3 * wheel::turn_size, due_at(20 * tick + 5));
    for (timer& t : timers) w.push(t, 0);
    timer soon = due_at(1);
    w.push(soon, 0);
    CHECK(w.next_visit() == 1);
    CHECK(w.next_due() == 1);
    w.remove(soon);
    const std::int64_t early = w.next_visit();
    CHECK(early == (20 - wheel::ahead) * tick);
    CHECK(w.next_due() == 20 * tick);
    CHECK_FALSE(w.turn(early - 1));
    CHECK(w.turn(early));
    CHECK(w.next_visit() == early); // more to move
    CHECK(w.next_due() == 20 * tick);
    turn(w, early);
    CHECK(w.next_visit() == 20 * tick + 5);
    CHECK(w.next_due() == 20 * tick + 5);
    for (timer& t : timers) w.remove(t);
    CHECK(w.next_due() == wheel::never);
}

TEST_CASE("timing_wheel: an empty wheel is never looked at") {
    wheel w;
    CHECK(w.next_visit() == wheel::never);
    CHECK(w.due(year) == nullptr);
    CHECK_FALSE(w.turn(year));
    timer t = due_at(100 * second);
    w.push(t, 0);
    w.remove(t);
    CHECK(w.next_visit() == wheel::never);
    CHECK_FALSE(w.turn(year));
}

TEST_CASE("timing_wheel: a timer is due at its deadline and not earlier however far away it is") {
    for (const std::int64_t now : {std::int64_t{0}, std::int64_t{1}, tick - 1, tick, 400 * second, 50 * year}) {
        for (const std::int64_t delay : {std::int64_t{1}, tick - 1, tick, tick + 1, 2 * tick, 3 * tick, 64 * tick,
                                         65 * tick, 4096 * tick, 3600 * second, year, 73 * year}) {
            CAPTURE(now, delay);
            wheel w;
            timer t = due_at(now + delay);
            const std::int64_t look = w.push(t, now);
            CHECK(look <= t.deadline);
            CHECK(w.next_visit() >= look);
            CHECK(expire(w, now + delay - 1).empty());
            CHECK(expire(w, now + delay) == std::vector<timer*>{&t});
        }
    }
}

TEST_CASE("timing_wheel: the ends of the range of times are deadlines like all others") {
    wheel w;
    timer last = due_at(INT64_MAX), before = due_at(INT64_MAX - 1), first = due_at(INT64_MIN + 1), zero = due_at(0);
    for (timer* t : {&last, &before, &first, &zero}) w.push(*t, INT64_MIN);
    CHECK(expire(w, INT64_MIN).empty());
    CHECK(expire(w, -1) == std::vector<timer*>{&first});
    CHECK(expire(w, INT64_MAX - 2) == std::vector<timer*>{&zero});
    CHECK(expire(w, INT64_MAX) == std::vector<timer*>{&before, &last});
}

TEST_CASE("timing_wheel: equal deadlines become due in the order of arming from the heap and from any slot") {
    wheel w;
    std::vector<timer> timers(300);
    const std::int64_t deadline = 1000 * second;
    for (std::size_t i = 0; i < timers.size(); ++i) {
        // Later timers are armed when less time is left: they go to lower slots, and the last ones to the heap.
        const std::int64_t now = deadline - static_cast<std::int64_t>(timers.size() - i) * second * 3;
        turn(w, now);
        timers[i].deadline = deadline;
        w.push(timers[i], now);
    }
    const std::vector<timer*> all = expire(w, deadline);
    REQUIRE(all.size() == timers.size());
    for (std::size_t i = 0; i < timers.size(); ++i) REQUIRE(all[i] == &timers[i]);
}

TEST_CASE("timing_wheel: a timer with an earlier deadline is due while the timers of the next slot move") {
    wheel w;
    std::vector<timer> slot(1000);
    const std::int64_t start = 64 * 64 * tick; // a slot of the third level begins there
    timer first = due_at(start - tick);
    w.push(first, 0);
    for (timer& t : slot) {
        t.deadline = start + 70 * tick;
        w.push(t, 0);
    }
    CHECK(w.turn(start - 2 * tick));
    CHECK(w.turn(start - tick));
    CHECK(w.due(start - tick) == &first); // although most of the others are still in their slot
    w.remove(first);
    CHECK(w.due(start - tick) == nullptr);
    turn(w, start - tick);
    CHECK(expire(w, start + 70 * tick).size() == slot.size());
}

// A slot of the third level is 137 s wide, so it may have all timers of a program.
// proves: progress-18
TEST_CASE("timing_wheel: the move of a wide slot begins so early that no timer waits for it") {
    wheel w;
    const std::int64_t start = 3 * 64 * 64 * tick; // a slot of the third level begins there
    constexpr int steps = 64 - wheel::ahead;       // the ticks from the beginning of the move to that time
    std::vector<timer> slot(std::size_t{steps} * wheel::turn_size), soon(steps);
    for (std::size_t i = 0; i < slot.size(); ++i) {
        slot[i].deadline = start + static_cast<std::int64_t>(i * 4096 / slot.size()) * tick;
        w.push(slot[i], 0);
    }
    std::size_t nr_late = 0;
    for (int i = 0; i < steps; ++i) { // one turn for each tick
        const std::int64_t now = start - (steps - i) * tick;
        soon[static_cast<std::size_t>(i)].deadline = now + tick / 2;
        w.push(soon[static_cast<std::size_t>(i)], now);
        CHECK(w.turn(now));
        timer* const due = w.due(now + tick / 2);
        nr_late += due == nullptr ? 1 : 0;
        if (due != nullptr) w.remove(*due);
    }
    CHECK(nr_late == 0);
    int nr_turns = 0; // only those of the first slots of the lower levels are left to move
    while (w.due(start) == nullptr && w.turn(start)) ++nr_turns;
    CHECK(w.due(start) == &slot[0]);
    CHECK(nr_turns <= 2);
}

TEST_CASE("timing_wheel: no timer is due before those of a slot that may come before it") {
    wheel w;
    std::vector<timer> slot(wheel::turn_size + 1);
    for (timer& t : slot) {
        t.deadline = 100 * tick + 1;
        w.push(t, 0);
    }
    timer soon = due_at(100 * tick + 2);
    w.push(soon, 100 * tick); // time has jumped: this one goes to the heap at once
    CHECK(w.due(101 * tick) == nullptr);
    CHECK(w.turn(101 * tick));
    CHECK(w.due(101 * tick) == nullptr); // one of the slot is left
    const std::vector<timer*> all = expire(w, 101 * tick);
    REQUIRE(all.size() == slot.size() + 1);
    CHECK(all.back() == &soon);
}

TEST_CASE("timing_wheel: timers are removed while their slot moves") {
    wheel w;
    std::vector<timer> slot(3 * wheel::turn_size);
    for (timer& t : slot) {
        t.deadline = 5000 * tick;
        w.push(t, 0);
    }
    CHECK(w.turn(5000 * tick)); // some of them
    for (std::size_t i = 0; i < slot.size(); i += 2) w.remove(slot[i]);
    timer more = due_at(5000 * tick);
    w.push(more, 4999 * tick);
    CHECK(expire(w, 5000 * tick).size() == slot.size() / 2 + 1);
    for (timer& t : slot) {
        t.deadline = 10'000 * tick;
        w.push(t, 5000 * tick);
    }
    CHECK(w.turn(10'000 * tick));
    for (timer& t : slot) w.remove(t); // also the last one of the slot that moves
    CHECK(w.next_visit() == wheel::never);
}

TEST_CASE("timing_wheel: few timers are in the heap and need no extra look") {
    wheel_of<3> w;
    timer t[4];
    for (int i = 0; i < 4; ++i) {
        t[i].deadline = (i + 1) * 1000 * second;
        const std::int64_t look = w.push(t[i], 0);
        if (i < 3) CHECK(look == t[i].deadline);
        else CHECK(look < t[i].deadline);
    }
    CHECK(w.next_visit() == t[0].deadline);
    CHECK_FALSE(w.turn(t[0].deadline));
    w.remove(t[0]);
    w.push(t[0], 0);
    CHECK(w.next_visit() == t[0].deadline);
}

TEMPLATE_TEST_CASE("timing_wheel: a thread that looks at the times of next_visit() finds each timer at its deadline",
                   "", wheel, wheel_of<64>) {
    std::mt19937_64 random(cmwq_test::seed());
    TestType w;
    std::vector<timer> timers(500);
    std::int64_t now = 12'345 * second;
    for (timer& t : timers) {
        t.deadline = now + static_cast<std::int64_t>(random() >> (3 + random() % 50));
        w.push(t, now);
    }
    std::size_t nr_due = 0, nr_looks = 0;
    while (w.next_visit() != wheel::never) {
        now = std::max(now, w.next_visit());
        for (timer* t : expire(w, now)) {
            REQUIRE(t->deadline == now);
            ++nr_due;
        }
        ++nr_looks;
    }
    CHECK(nr_due == timers.size());
    CHECK(nr_looks <= timers.size() * 8); // the deadline, and at most one look for each level
}

TEMPLATE_TEST_CASE("timing_wheel: random arming and disarming and jumps of the time agree with a sorted set", "", wheel,
                   wheel_of<64>) {
    std::mt19937_64 random(cmwq_test::seed());
    TestType w;
    std::vector<timer> timers(400);
    std::uint64_t nr_armed = 0;
    std::int64_t now = 1;
    std::set<std::tuple<std::int64_t, std::uint64_t, timer*>> oracle; // deadline, arming, timer
    const auto key = [](timer& t) { return std::tuple{t.deadline, t.armed, &t}; };
    for (int step = 0; step < 100'000; ++step) {
        timer& t = timers[random() % timers.size()];
        if (t.armed != 0) {
            if (random() % 2 == 0) {
                w.remove(t);
                oracle.erase(key(t));
                t.armed = 0;
            }
        } else {
            const unsigned bits = 3 + static_cast<unsigned>(random() % 60);
            t.deadline = now + static_cast<std::int64_t>(random() >> bits);
            if (random() % 4 == 0) t.deadline = t.deadline / second * second; // often equal; may be in the past
            t.armed = ++nr_armed;
            oracle.insert(key(t));
            const std::int64_t look = w.push(t, now);
            REQUIRE(look >= w.next_visit());
        }
        const auto roll = random() % 1000;
        if (roll < 300) now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(tick / 8));
        else if (roll < 303) now += static_cast<std::int64_t>(random() >> (20 + random() % 40));
        if (now > 200 * year) break;
        if (random() % 2 == 0) w.turn(now); // may leave a slot half moved
        if (random() % 8 != 0) continue;
        for (timer* due : expire(w, now)) {
            REQUIRE_FALSE(oracle.empty());
            REQUIRE(due == std::get<2>(*oracle.begin()));
            oracle.erase(oracle.begin());
            due->armed = 0;
        }
        REQUIRE((oracle.empty() || std::get<0>(*oracle.begin()) > now));
        REQUIRE((oracle.empty() || w.next_visit() <= std::get<0>(*oracle.begin())));
    }
}
