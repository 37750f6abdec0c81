// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves: threads that push beside threads that drain. Every item runs, one at a time, in order, also when a
// guard holds one producer back, when other threads cancel items or wait, and when the bottom-half thread takes over.
//
// When these defects were put into the engine, these searches found them: no look at the inbox after the context was
// given up, or one outside of the lock; either side of that relaxed; two threads that drain at once; items whose push
// did not find the inbox empty and that no thread runs; a guard that forgets the items that it held back, or does not
// hand them over before a wait; no wake-up of the bottom-half thread beyond the budget, or one before the context was
// given up; a wake-up that is lost while that thread is being made; no wake-up after a shutdown releases items that
// came late.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

using cmwq::queue_status;
using namespace cmwq_test;
using item = cmwq::work<std::function<void()>>;

namespace {

struct kind {
    bool thread = false;       ///< the bottom-half thread of each CPU is there when the search begins
    bool end_searched = false; ///< the destructors of queues and runtime are part of the search
};

/// A runtime with bottom-half queues of both priorities. It is the first object in the body of a search.
class bh_machine {
public:
    explicit bh_machine(kind k = {}) : kind_(k), rt(options()) {
        if (k.thread) {
            for (const unsigned cpu : rt.cpus()) {
                item first{[] {}};
                const cmwq::bh_disable_guard hold;
                q.queue_on(cpu, first);
                first.flush();
            }
        }
        model::sleep(1'000'000'000);
        quiet_.end();
        began_ = model::elapsed();
    }
    ~bh_machine() {
        model::require(model::elapsed() == began_, "no thread waited for time to pass");
        if (!kind_.end_searched) quiet_.begin();
    }
    bh_machine(const bh_machine&) = delete;
    bh_machine& operator=(const bh_machine&) = delete;

private:
    static cmwq::runtime_options options() {
        cmwq::runtime_options o;
        o.sentinel = false;
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, model::nr_cpus()));
        return o;
    }

    kind kind_;
    model::unsearched quiet_;
    std::int64_t began_ = 0;

public:
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    cmwq::workqueue<cmwq::bh> high{rt, {.name = "high", .priority = cmwq::priority::high}};
};

/// Items that record their letter. That is a data race unless one item runs at a time and sees the letter of the
/// previous item.
class diary {
public:
    std::string text() { return text_; }
    std::function<void()> write(char c) {
        return [this, c] {
            std::string s = text_;
            s += c;
            text_ = s;
        };
    }

private:
    model::checked<std::string> text_{std::string()};
};

bool same_letters(std::string a, std::string b) {
    for (const char c : b) {
        const auto at = a.find(c);
        if (at == std::string::npos) return false;
        a.erase(at, 1);
    }
    return a.empty();
}

bool before(const std::string& text, char first, char second) { return text.find(first) < text.find(second); }

} // namespace

TEST_CASE("bh: the counters of a runtime never show more completed items than started ones") {
    CHECK(model::explore(search("bh-counters", 3, 2), [] {
        bh_machine m;
        item a{[] {}}, b{[] {}};
        auto t = model::spawn([&] {
            m.q.queue(a);
            m.q.queue(b);
        });
        const cmwq::runtime_stats s = m.rt.stats();
        model::require(s.items_completed <= s.items_started, "no item has completed before it has started");
        t.join();
    }));
}

TEST_CASE("bh: both items have run when their two producers on one context have returned") {
    CHECK(model::explore(search("bh-two-producers", 5, 3), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] { m.q.queue(b); });
        m.q.queue(a);
        t.join();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: the items of two producers run in the order of their queueing") {
    CHECK(model::explore(search("bh-order", 4), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')}, x{d.write('x')}, y{d.write('y')};
        auto t = model::spawn([&] {
            m.q.queue(x);
            m.q.queue(y);
        });
        m.q.queue(a);
        m.q.queue(b);
        t.join();
        const std::string s = d.text();
        model::require(same_letters(s, "abxy"), "no item is lost or counted twice");
        model::require(before(s, 'a', 'b') && before(s, 'x', 'y'), "in queueing order");
    }));
}

TEST_CASE("bh: items that queue items of both priorities run beside another producer") {
    CHECK(model::explore(search("bh-priorities", 4), [] {
        bh_machine m;
        diary d;
        item h{d.write('h')}, n{d.write('n')}, x{d.write('x')};
        // Two diaries: the two contexts may run at once, which would be a data race on a single diary.
        diary other;
        item hh{[&, w = other.write('H')] {
            w();
            m.q.queue(n);
        }};
        item a{[&, w = d.write('a')] {
            w();
            m.high.queue(hh);
        }};
        auto t = model::spawn([&] { m.q.queue(x); });
        m.q.queue(a);
        t.join();
        m.q.flush(); // n may not have run yet
        model::require(same_letters(d.text(), "anx") && other.text() == "H", "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: a guard holds back one producer and not the other") {
    CHECK(model::explore(search("bh-guard", 4, 3), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] { m.q.queue(b); });
        {
            const cmwq::bh_disable_guard hold;
            m.q.queue(a);
        }
        t.join();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
    CHECK(model::explore(search("bh-behind-a-guard", 2), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        const cmwq::bh_disable_guard hold;
        m.q.queue(a);
        auto t = model::spawn([&] { m.q.queue(b); });
        t.join();
        model::require(d.text() == "ab", "the second producer has run both items");
    }));
    CHECK(model::explore(search("bh-two-guards", 4), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] {
            const cmwq::bh_disable_guard hold;
            m.q.queue(b);
        });
        {
            const cmwq::bh_disable_guard hold;
            m.q.queue(a);
        }
        t.join();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: flush moves the items of the inbox to the worklist where the draining thread finds them") {
    CHECK(model::explore(search("bh-flush", 5, 3), [] {
        bh_machine m;
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] { m.q.queue(b); });
        auto f = model::spawn([&] { m.q.flush(); });
        m.q.queue(a);
        m.q.flush();
        t.join();
        f.join();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: a flush inside of a guard returns") {
    CHECK(model::explore(search("bh-guard-flush", 4), [] {
        bh_machine m({.thread = true});
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] { m.q.queue(b); });
        {
            const cmwq::bh_disable_guard hold;
            m.q.queue(a);
            a.flush();
        }
        t.join();
        m.q.flush();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: cancel and cancel_sync and disable_sync run beside queueing and draining") {
    CHECK(model::explore(search("bh-cancel", 4), [] {
        bh_machine m;
        model::checked<int> runs{0};
        cmwq::detail::atomic<int> queued{0};
        item w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] {
            for (int i = 0; i < 2; ++i)
                if (m.q.queue(w) == queue_status::queued) queued.fetch_add(1, cmwq::detail::relaxed);
        });
        const int cancelled = w.cancel();
        t.join();
        model::require(runs + cancelled == queued.load(cmwq::detail::relaxed), "no item is lost or counted twice");
    }));
    CHECK(model::explore(search("bh-cancel-sync", 4), [] {
        bh_machine m;
        model::checked<int> runs{0}; // a data race unless the run happens before the return
        item w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.queue(w); });
        const bool cancelled = w.cancel_sync();
        t.join();
        model::require(runs + int{cancelled} <= 1 && !w.busy(), "at most one of the two");
        w.disable_sync();
        model::require(m.q.queue(w) == queue_status::disabled, "disabled");
        w.enable();
        const int before = runs;
        m.q.queue(w);
        model::require(runs == before + 1, "it can be queued again, and runs");
    }));
    CHECK(model::explore(search("bh-cancel-between", 4), [] {
        bh_machine m; // the item behind b runs whether b is cancelled or not
        diary d;
        item a{d.write('a')}, b{d.write('b')}, c{d.write('c')};
        bool without_b = false;
        auto t = model::spawn([&] { without_b = b.cancel_sync(); });
        bool refused = false;
        {
            const cmwq::bh_disable_guard hold;
            m.q.queue(a);
            refused = m.q.queue(b) != queue_status::queued;
            m.q.queue(c);
        }
        t.join();
        model::require(d.text() == (without_b || refused ? "ac" : "abc"), "the others have run, in order");
    }));
}

TEST_CASE("bh: drain runs beside a producer") {
    CHECK(model::explore(search("bh-drain", 4), [] {
        bh_machine m;
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }};
        queue_status s = queue_status::rejected;
        auto t = model::spawn([&] { s = m.q.queue(w); });
        m.q.drain();
        t.join();
        model::require(runs == (s == queue_status::queued ? 1 : 0), "it has run, or was rejected");
    }));
}

TEST_CASE("bh: an item is queued to another CPU while a thread is just leaving its context") {
    CHECK(model::explore(search_on(2, "bh-elsewhere", 5, 3), [] {
        bh_machine m({.thread = true});
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        auto t = model::spawn([&] {
            model::set_current_cpu(1);
            m.q.queue(b);
        });
        m.q.queue_on(1, a);
        t.join();
        m.q.flush();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
    CHECK(model::explore(search_on(2, "bh-elsewhere-cold", 3), [] {
        bh_machine m; // the bottom-half thread does not exist yet
        diary d;
        item a{d.write('a')}, b{d.write('b')};
        m.q.queue_on(1, a);
        m.high.queue_on(1, b);
        a.flush();
        b.flush();
        model::require(same_letters(d.text(), "ab"), "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: the bottom-half thread runs items beyond the budget beside another producer") {
    CHECK(model::explore(search("bh-budget", 5), [] {
        bh_machine m({.thread = true});
        model::checked<int> runs{0}, others{0};
        item* self = nullptr;
        item a{[&] {
            runs = runs + 1;
            if (runs < 12) m.q.queue(*self);
        }};
        self = &a;
        item b{[&] { others = others + 1; }};
        auto t = model::spawn([&] { m.q.queue(b); });
        m.q.queue(a);
        m.q.drain();
        t.join();
        m.q.flush();
        model::require(runs == 12 && others <= 1, "no item is lost or counted twice");
    }));
}

TEST_CASE("bh: an item that runs in one context and is queued in another runs again in the first") {
    CHECK(model::explore(search_on(2, "bh-moves", 4), [] {
        bh_machine m;
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }}; // a data race if two runs overlap
        queue_status s = queue_status::rejected;
        auto t = model::spawn([&] {
            model::set_current_cpu(1);
            s = m.q.queue(w);
        });
        const queue_status mine = m.q.queue(w);
        t.join();
        m.q.flush();
        model::require(runs == int{s == queue_status::queued} + int{mine == queue_status::queued}, "one run per claim");
    }));
}

TEST_CASE("bh: queue and runtime end right after the bottom-half thread has run an item") {
    CHECK(model::explore(search("bh-end", 4), [] {
        std::optional<bh_machine> m;
        m.emplace(kind{.end_searched = true});
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }};
        {
            const cmwq::bh_disable_guard hold;
            m->q.queue(w);
            w.flush();
        }
        m.reset();
        model::require(runs == 1, "it has run");
    }));
    CHECK(model::explore(search("bh-end-in-guard", 3), [] {
        std::optional<bh_machine> m;
        m.emplace(kind{.end_searched = true});
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }};
        {
            const cmwq::bh_disable_guard hold;
            m->q.queue(w);
            m.reset(); // hands the item over and waits for it
            model::require(runs == 1, "it has run");
        }
    }));
    CHECK(model::explore(search("bh-end-behind-guard", 3), [] {
        auto m = std::make_unique<bh_machine>(kind{.end_searched = true});
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }};
        model::semaphore queued{0};
        auto t = model::spawn([&] {
            const cmwq::bh_disable_guard hold;
            m->q.queue(w);
            queued.release();
        }); // the guard ends at any time, also after the end of the queue
        queued.acquire();
        w.cancel();
        m.reset();
        t.join();
        model::require(runs <= 1, "at most one run");
    }));
}

// The item that was pushed late is held back when its producer looks for it.
TEST_CASE("bh: an item that is pushed while its queue is shut down has run or was dropped") {
    CHECK(model::explore(search_on(2, "bh-shutdown", 4), [] {
        bh_machine m({.thread = true});
        model::checked<int> runs{0};
        item w{[&] { runs = runs + 1; }};
        queue_status s = queue_status::rejected;
        auto t = model::spawn([&] {
            model::set_current_cpu(1);
            s = m.q.queue(w);
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cmwq::cancel_pending));
        t.join();
        w.flush();
        model::require(runs + dropped == (s == queue_status::queued ? 1 : 0), "it was accepted: one run, or dropped");
    }));
}
