// SPDX-License-Identifier: BSL-1.0
//
// Freezing beside producers, threads that wait for the freeze, changes of attributes, and slots of a node that are on
// their way to a pool.
#include "catch.hpp"
#include "model/machine.hpp"

#include <chrono>
#include <optional>

using namespace std::chrono_literals;
using cmwq::attrs;
using namespace cmwq_test;

namespace {

/// Data that belongs to the items until a thread has frozen them.
class territory {
public:
    void inside() { nr_ = nr_ + 1; } // a data race unless it happens before the freeze or after the thaw
    void intrude() { nr_ = nr_.get(); }
    void intrude_in_a_freeze(cmwq::runtime& rt) {
        rt.freeze();
        model::require(rt.wait_frozen(), "no thread thaws it");
        intrude();
        rt.thaw();
    }
    [[nodiscard]] int nr() const { return nr_; }

private:
    model::checked<int> nr_{0};
};

} // namespace

// proves: life-7
TEST_CASE("freeze: no item runs between wait_frozen() and thaw() and no item is lost") {
    CHECK(model::explore(search("queue", 3), [] {
        machine m({.freezable = true});
        territory items;
        model::semaphore done{0};
        const auto body = [&] {
            items.inside();
            done.release();
        };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] {
            m.q.queue(a);
            m.q.queue(b);
        });
        m.rt.freeze();
        model::require(m.rt.wait_frozen() && m.rt.frozen(), "no thread thaws it");
        items.intrude();
        m.rt.thaw();
        done.acquire();
        done.acquire();
        t.join();
        model::require(items.nr() == 2, "all have run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    CHECK(model::explore(search("limit", 3), [] {
        machine m({.max_active = 1, .freezable = true});
        territory items;
        model::semaphore done{0};
        const auto body = [&] {
            items.inside();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        m.q.queue(a);
        m.q.queue(b);
        auto t = model::spawn([&] { m.q.queue(c); });
        items.intrude_in_a_freeze(m.rt);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

TEST_CASE("freeze: two threads wait for it and both are woken") {
    CHECK(model::explore(search("two-waiters", 3), [] {
        machine m({.freezable = true});
        territory items;
        cmwq::work a{[&] { items.inside(); }};
        m.q.queue(a);
        m.rt.freeze();
        auto t = model::spawn([&] { model::require(m.rt.wait_frozen(), "no thread thaws it"); });
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        items.intrude();
        t.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.rt.thaw();
        m.q.flush();
        model::require(items.nr() == 1, "it has run, before or after the freeze");
    }));
}

TEST_CASE("freeze: a thaw wakes a thread that waits and time limits hold") {
    CHECK(model::explore(search("thaw", 3), [] {
        machine m({.freezable = true});
        territory items;
        model::semaphore gate{0};
        cmwq::work a{[&] {
            gate.acquire();
            items.inside();
        }};
        m.q.queue(a);
        m.rt.freeze();
        auto t = model::spawn([&] { m.rt.thaw(); });
        const bool frozen = m.rt.wait_frozen();
        if (frozen) items.intrude(); // the item had not become active
        t.join();
        gate.release();
        m.q.flush();
        model::require(items.nr() == 1, "it has run");
    }));
    CHECK(model::explore(search("time-limit", 3), [] {
        machine m({.freezable = true});
        territory items;
        cmwq::work a{[&] {
            model::sleep(5'000'000);
            items.inside();
        }};
        m.q.queue(a);
        m.rt.freeze();
        auto t = model::spawn([&] {
            const bool frozen = m.rt.wait_frozen_for(2ms);
            model::require(frozen == (m.waited() < 2'000'000), "false exactly if 2 ms have passed");
        });
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        items.intrude();
        t.join();
        m.rt.thaw();
        m.q.flush();
    }));
}

TEST_CASE("freeze: two concurrent freezes nest and the last thaw lets the items run") {
    CHECK(model::explore(search("nested", 3), [] {
        machine m({.freezable = true});
        territory items;
        model::semaphore done{0};
        cmwq::work a{[&] {
            items.inside();
            done.release();
        }};
        const auto hold_still = [&] {
            const cmwq::freeze_guard still(m.rt);
            model::require(m.rt.frozen(), "frozen as long as one guard exists");
        };
        auto t = model::spawn(hold_still);
        m.q.queue(a);
        hold_still();
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
}

TEST_CASE("freeze: one queue is made and another is destroyed while the runtime freezes") {
    CHECK(model::explore(search("new-queue", 3), [] {
        machine m;
        territory items;
        model::semaphore done{0};
        std::optional<cmwq::workqueue<>> q;
        cmwq::work a{[&] {
            items.inside();
            done.release();
        }};
        auto t = model::spawn([&] {
            q.emplace(m.rt, cmwq::options<cmwq::bound>{.name = "new", .freezable = true});
            q->queue(a);
        });
        items.intrude_in_a_freeze(m.rt);
        done.acquire();
        t.join();
        q.reset();
    }));
    CHECK(model::explore(search("old-queue", 3), [] {
        machine m;
        territory items;
        std::optional<cmwq::workqueue<>> q;
        q.emplace(m.rt, cmwq::options<cmwq::bound>{.name = "old", .freezable = true});
        cmwq::work a{[&] { items.inside(); }};
        q->queue(a);
        auto t = model::spawn([&] { q.reset(); }); // waits for the thaw if the item waits for it
        items.intrude_in_a_freeze(m.rt);
        t.join();
        model::require(items.nr() == 1, "the destructor has waited for it");
    }));
}

TEST_CASE("freeze: items that wait for the thaw can be removed") {
    CHECK(model::explore(search("cancel", 3), [] {
        machine m({.max_active = 1, .freezable = true});
        territory items;
        model::semaphore done{0};
        cmwq::work a{[&] { items.inside(); }};
        cmwq::work b{[&] {
            items.inside();
            done.release();
        }};
        m.q.queue(a);
        m.q.queue(b);
        m.rt.freeze();
        auto t = model::spawn([&] { m.rt.thaw(); });
        const bool cancelled = a.cancel_sync();
        done.acquire();
        t.join();
        model::require(items.nr() == (cancelled ? 1 : 2), "the items that were not cancelled have run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

TEST_CASE("freeze: apply() works in a freeze and before one and across the thaw") {
    CHECK(model::explore(search_on(1, "apply", 4), [] {
        unbound_machine m({.others = attrs{}.nice(1), .freezable = true});
        territory items;
        model::semaphore done{0};
        const auto body = [&] {
            items.inside();
            done.release();
        };
        cmwq::work a{body}, b{body};
        m.q.set_max_active(1); // keeps the runs apart
        m.q.queue(a);
        auto t = model::spawn([&] {
            m.q.apply(attrs{}.nice(1));
            m.q.queue(b);
        });
        items.intrude_in_a_freeze(m.rt);
        done.acquire();
        done.acquire();
        t.join();
        m.q.flush();
        m.end_queue();
        model::require(items.nr() == 2, "all have run");
    }));
    CHECK(model::explore(search_on(1, "apply-ordered", 4), [] {
        ordered_machine m({.others = attrs{}.nice(1), .freezable = true});
        model::checked<int> last{0};
        territory items;
        model::semaphore done{0};
        const auto queue_one = [&](int number) {
            m.q.post([&, number] {
                items.inside();
                model::require(last == number - 1, "in order");
                last = number;
                done.release();
            });
        };
        queue_one(1);
        auto t = model::spawn([&] {
            const cmwq::freeze_guard still(m.rt);
            items.intrude();
        });
        m.q.apply(attrs{}.nice(1));
        queue_one(2);
        done.acquire();
        done.acquire();
        t.join();
        m.q.flush();
    }));
}

TEST_CASE("freeze: a pool freezes while a slot of the node is on its way to it") {
    CHECK(model::explore(search_on(2, "slots", 4), [] {
        unbound_machine m({.attributes = pool_for_each_cpu(), .max_active = 1, .freezable = true});
        territory items;
        model::semaphore done{0};
        const auto body = [&] {
            items.inside();
            done.release();
        };
        cmwq::work a{body}, b{body};
        m.q.queue_on(0, a);
        m.q.queue_on(1, b); // waits for the slot of a
        items.intrude_in_a_freeze(m.rt);
        done.acquire();
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "slots-thaw", 4), [] {
        unbound_machine m({.attributes = pool_for_each_cpu(), .max_active = 1, .freezable = true});
        territory items;
        model::semaphore done{0};
        const auto body = [&] {
            items.inside();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        m.q.queue_on(0, a);
        m.q.queue_on(1, b);
        auto t = model::spawn([&] {
            m.rt.freeze();
            m.rt.thaw();
        });
        m.q.queue_on(0, c);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
}
