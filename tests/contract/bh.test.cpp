// SPDX-License-Identifier: BSL-1.0
//
// The promises of bottom halves beyond those of all queues: where items run, in which order, within which budget, and
// which calls inside of them are errors. Misuse that ends the program is in tests/death/.
#include "catch.hpp"
#include "error_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "pinned.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/os/cpu.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using cmwq_test::error_of;
using cmwq_test::eventually;
using cmwq_test::pinned;
using namespace std::chrono_literals;
using item = cmwq::work<std::function<void()>>;

namespace {

unsigned cpu_a() { return *cmwq::runtime::global().cpus().begin(); }
unsigned cpu_b() {
    const cmwq::cpuset& cpus = cmwq::runtime::global().cpus();
    const unsigned second = cpus.next(cpu_a() + 1);
    return cpus.contains(second) ? second : cpu_a();
}

/// Computes until `done()`: a bottom half that waits for another thread must not block.
template <class F>
void spin_until(F done) {
    const auto end = std::chrono::steady_clock::now() + 120s;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// An item that runs on another thread until the test releases it.
class held {
public:
    held(cmwq::workqueue<cmwq::bh>& q, unsigned cpu)
        : w_([this] {
              inside_ = true;
              spin_until([this] { return leave_.load(); });
          }),
          t_([this, &q, cpu] {
              const pinned here(cpu);
              q.queue(w_);
          }) {
        spin_until([this] { return inside_.load(); });
    }
    ~held() { let_go(); }
    void let_go() {
        leave_ = true;
        if (t_.joinable()) t_.join();
    }
    item& work() { return w_; }

private:
    std::atomic<bool> inside_{false}, leave_{false};
    item w_;
    std::thread t_;
};

/// The order in which items have run. One thread at a time runs an item that records its run.
class run_order {
public:
    using queues = std::initializer_list<cmwq::workqueue<cmwq::bh>*>;

    void record(char name) {
        names_ += name;
        elsewhere_ = elsewhere_ || std::this_thread::get_id() != owner_;
    }
    bool empty() const { return names_.empty(); }
    void clear() {
        names_.clear();
        elsewhere_ = false;
    }

    /// Repeats `attempt` until all its items have run on the calling thread before `attempt` returns, and returns
    /// whether that has happened. Every attempt must run the items in the order `wanted`. A single attempt is not
    /// enough: the budget of a thread ends early if the thread has no CPU for two milliseconds or if the clock jumps;
    /// then another thread runs the remaining items.
    template <class F>
    bool here(const std::string& wanted, queues used, F attempt) {
        const auto completed = [&] {
            std::uint64_t sum = 0;
            for (auto* q : used) sum += q->stats().completed;
            return sum;
        };
        return eventually([&] {
            clear();
            const std::uint64_t before = completed();
            attempt();
            const std::uint64_t after = completed();
            for (auto* q : used) q->drain(); // only then this thread may read the names
            CHECK(names_ == wanted);
            return after - before == wanted.size() && !elsewhere_;
        });
    }

private:
    const std::thread::id owner_ = std::this_thread::get_id();
    std::string names_;
    bool elsewhere_ = false;
};

} // namespace

// --- where and in which order ----------------------------------------------------------------------------------------

// proves: kernel-28
TEST_CASE("bh: the item has run on the calling thread before queue() returns") {
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::thread::id where;
    item w{[&] { where = std::this_thread::get_id(); }};
    CHECK(q.queue(w) == queue_status::queued);
    CHECK(where == std::this_thread::get_id());
    CHECK_FALSE(w.busy());
    CHECK(q.stats().completed == 1);

    int posted = 0;
    q.post([&] { ++posted; });
    CHECK(posted == 1);
    auto answer = q.async([] { return 42; });
    CHECK(answer.wait_for(0s) == std::future_status::ready);
    CHECK(answer.get() == 42);
    cmwq::delayed_work at_once{[&] { ++posted; }};
    q.queue_after(0s, at_once);
    CHECK(posted == 2);
    q.modify(0s, at_once);
    CHECK(posted == 3);
}

TEST_CASE("bh: this_work returns the bottom half and its queue; afterwards it returns those of the caller again") {
    cmwq::workqueue<cmwq::bh> q{"q"};
    cmwq::workqueue<> events{"events"};
    cmwq::work_base* seen = nullptr;
    cmwq::workqueue_base* seen_queue = nullptr;
    bool busy = false, pending = true;
    std::optional<item> w;
    w.emplace([&] {
        seen = cmwq::this_work::current();
        seen_queue = cmwq::this_work::queue();
        busy = w->busy();
        pending = w->pending();
    });
    q.queue(*w);
    CHECK(seen == &*w);
    CHECK(seen_queue == &q);
    CHECK(busy);
    CHECK_FALSE(pending);
    CHECK(cmwq::this_work::current() == nullptr);

    // The same inside of a bound item: its worker runs the bottom half in the meantime.
    seen = nullptr;
    cmwq::work_base* after = nullptr;
    cmwq::workqueue_base* queue_after = nullptr;
    std::thread::id inside, outside;
    item bottom{[&] { inside = std::this_thread::get_id(); }};
    item outer{[&] {
        outside = std::this_thread::get_id();
        q.queue(*w);
        q.queue(bottom);
        after = cmwq::this_work::current();
        queue_after = cmwq::this_work::queue();
        const cmwq::blocking_region allowed; // because the bottom half has ended
    }};
    events.queue(outer);
    outer.flush();
    CHECK(seen == &*w);
    CHECK(inside == outside);
    CHECK(after == &outer);
    CHECK(queue_after == &events);
}

TEST_CASE("bh: items queued by an item run after it in order and before the outermost queue() returns") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"}, other{"other"};
    run_order order;
    item b{[&] { order.record('2'); }};
    item c{[&] { order.record('3'); }};
    item a{[&] {
        CHECK(q.queue(b) == queue_status::queued);
        CHECK(b.pending());
        CHECK(other.queue(c) == queue_status::queued); // one order for all queues of a CPU and priority
        order.record('1');
    }};
    CHECK(order.here("123", {&q, &other}, [&] { q.queue(a); }));
}

TEST_CASE("bh: a chain of 10000 items does not grow the stack and runs in order") {
    cmwq::workqueue<cmwq::bh> q{"q"};
    constexpr int length = 10'000;
    // An item that is measured runs a few frames deeper than others.
    constexpr std::uintptr_t allowed = 16'384;
    struct depths { // of the stack of one thread
        std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
        void add(std::uintptr_t depth) {
            lowest = std::min(lowest, depth);
            highest = std::max(highest, depth);
        }
    };
    // The rest of the chain exceeds the budget and runs on another thread.
    std::map<std::thread::id, depths> of_threads;
    std::vector<int> order;
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < length; ++i) {
        items.push_back(std::make_unique<item>([&, i] {
            of_threads[std::this_thread::get_id()].add(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
            order.push_back(i);
            if (i + 1 < length) q.queue(*items[static_cast<std::size_t>(i) + 1]);
        }));
    }
    q.queue(*items[0]);
    q.drain();
    REQUIRE(order.size() == std::size_t{length});
    CHECK(std::is_sorted(order.begin(), order.end()));
    for (const auto& [thread, d] : of_threads) CHECK(d.highest - d.lowest < allowed);
}

TEST_CASE("bh: an item of high priority runs before normal items and directly after the item that queues it") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> normal{"normal"};
    cmwq::workqueue<cmwq::bh> high{{.name = "high", .priority = cmwq::priority::high}};
    run_order order;
    bool from_high = false;
    item n3{[&] { order.record('3'); }};
    item h{[&] {
        order.record('h');
        if (from_high) normal.queue(n3);
    }};
    item n2{[&] { order.record('2'); }};
    item n1{[&] {
        normal.queue(n2);
        high.queue(h);
        order.record('1');
    }};
    CHECK(order.here("1h2", {&high, &normal}, [&] { normal.queue(n1); }));
    from_high = true; // an item of `high` queues a normal item: the same thread runs that afterwards
    CHECK(order.here("h3", {&high, &normal}, [&] { high.queue(h); }));
    from_high = false;
    CHECK(order.here("h2", {&high, &normal}, [&] {
        const cmwq::bh_disable_guard hold;
        normal.queue(n2);
        high.queue(h);
    }));
}

TEST_CASE("bh: several threads run one item at a time for each CPU and priority") {
    constexpr int nr_threads = 4, rounds = 3000;
    const unsigned cpu = cpu_a();
    cmwq::workqueue<cmwq::bh> q{"q"}, other{"other"};
    std::atomic<int> inside{0}, overlaps{0};
    std::uint64_t runs = 0; // not atomic on purpose: one item runs at a time
    const auto body = [&] {
        if (inside.fetch_add(1) != 0) ++overlaps;
        ++runs;
        inside.fetch_sub(1);
    };
    std::atomic<std::uint64_t> queued{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < nr_threads; ++t) {
        threads.emplace_back([&, t] {
            item w{body};
            for (int i = 0; i < rounds; ++i) {
                if ((t % 2 == 0 ? q : other).queue_on(cpu, w) == queue_status::queued) ++queued;
            }
            w.flush();
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(overlaps == 0);
    CHECK(runs == queued);
    CHECK(runs == q.stats().completed + other.stats().completed);
}

// On a busy machine the other thread may use up its budget before it comes to the item. Then the bottom-half thread
// runs the item, and the test repeats the attempt.
TEST_CASE("bh: while another thread drains the context queue() returns at once and that thread runs the item") {
    const unsigned cpu = cpu_a();
    const pinned here(cpu);
    CHECK(eventually([&] {
        cmwq::workqueue<cmwq::bh> q{"q"};
        std::atomic<bool> ran{false};
        std::thread::id where, drainer;
        item note{[&] { drainer = std::this_thread::get_id(); }};
        item w{[&] {
            where = std::this_thread::get_id();
            ran = true;
        }};
        held h(q, cpu);
        q.queue(note);
        CHECK(q.queue(w) == queue_status::queued);
        CHECK_FALSE(ran);
        CHECK(w.pending());
        h.let_go();
        q.flush();
        CHECK(ran);
        CHECK(where != std::this_thread::get_id());
        return where == drainer;
    }));
}

// proves: kernel-29
TEST_CASE("bh: an item for another CPU runs on that CPU") {
    const unsigned a = cpu_a(), b = cpu_b();
    if (a == b) return; // not visible with one CPU
    const pinned here(a);
    cmwq::workqueue<cmwq::bh> q{"q"};
    cmwq::workqueue<cmwq::bh> high{{.name = "high", .priority = cmwq::priority::high}};
    std::vector<std::string> where;
    const auto note = [&] {
        char name[16] = {};
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        where.push_back(std::to_string(cmwq::detail::current_cpu()) + ' ' + name);
    };
    item w{note}, v{note}, from_item{[&] { q.queue_on(b, v); }};
    const std::string expected = std::to_string(b) + " cmwq/" + std::to_string(b) + ":B";
    q.queue_on(b, w);
    w.flush();
    CHECK(where == std::vector<std::string>{expected});
    high.queue_on(b, w);
    w.flush();
    q.queue(from_item); // from inside of a bottom half of this CPU
    v.flush();
    CHECK(where == std::vector<std::string>(3, expected));
    // The caller's own CPU, by its number: the item runs here.
    std::thread::id own;
    item on_a{[&] { own = std::this_thread::get_id(); }};
    q.queue_on(a, on_a);
    CHECK(own == std::this_thread::get_id());
    CHECK(q.queue_on(99'999, on_a) == queue_status::rejected);
}

// --- the budget ------------------------------------------------------------------------------------------------------

// These tests repeat their attempt, because a budget ends early if the thread has no CPU for two milliseconds or if the
// clock jumps.

TEST_CASE("bh: after ten rounds the bottom-half thread of the CPU runs the remaining items") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::atomic<int> here_runs{0}, there_runs{0};
    const std::thread::id me = std::this_thread::get_id();
    item* self = nullptr;
    item w{[&] {
        ++(std::this_thread::get_id() == me ? here_runs : there_runs);
        if (here_runs + there_runs < 25) q.queue(*self);
    }};
    self = &w;
    CHECK(eventually([&] {
        here_runs = there_runs = 0;
        q.queue(w);
        q.drain();
        CHECK(here_runs + there_runs == 25);
        return here_runs == 10;
    }));
}

TEST_CASE("bh: a round is the list of items that are pending at its beginning so a long list is one round") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"};
    const auto self = std::this_thread::get_id();
    std::atomic<int> runs_here{0};
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < 30; ++i)
        items.push_back(std::make_unique<item>([&] { runs_here += std::this_thread::get_id() == self ? 1 : 0; }));
    CHECK(eventually([&] {
        runs_here = 0;
        {
            const cmwq::bh_disable_guard hold;
            for (auto& w : items) q.queue(*w);
            CHECK(runs_here == 0);
        }
        q.flush();
        return runs_here == 30;
    }));
}

// proves: progress-8
TEST_CASE("bh: an item of high priority that always queues itself again does not block the normal items") {
    std::atomic<bool> leave{false};
    std::atomic<int> turns{0};
    cmwq::workqueue<cmwq::bh> fast{{.name = "fast", .priority = cmwq::priority::high}};
    cmwq::workqueue<cmwq::bh> q{"q"};
    item* self = nullptr;
    item polling{[&] {
        ++turns;
        if (!leave) fast.queue(*self);
    }};
    self = &polling;
    std::thread starter([&] { // after its budget the bottom-half thread of the CPU continues
        const pinned here(cpu_a());
        fast.queue(polling);
    });
    starter.join();
    // This thread is on another CPU or does not drain: only the bottom-half thread of CPU A may run these items.
    std::atomic<int> ran{0};
    item first{[&] { ++ran; }}, second{[&] { ++ran; }};
    cmwq::delayed_work later{[&] { ++ran; }};
    {
        const pinned there(cpu_b());
        q.queue_on(cpu_a(), first);
        q.queue_on(cpu_a(), second);
        q.queue_after_on(cpu_a(), 1ms, later);
    }
    CHECK(eventually([&] { return ran == 3; }));
    const int before = turns;
    CHECK(eventually([&] { return turns > before; })); // and it continues with its own budget
    leave = true;
    fast.drain();
}

TEST_CASE("bh: after two milliseconds the bottom-half thread of the CPU runs the remaining items") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::atomic<int> here_runs{0}, there_runs{0};
    const std::thread::id me = std::this_thread::get_id();
    const auto body = [&] {
        const auto end = std::chrono::steady_clock::now() + 3ms;
        while (std::chrono::steady_clock::now() < end) {}
        ++(std::this_thread::get_id() == me ? here_runs : there_runs);
    };
    item a{body}, b{body}, c{body}, d{body};
    CHECK(eventually([&] {
        here_runs = there_runs = 0;
        {
            const cmwq::bh_disable_guard hold;
            q.queue(a);
            q.queue(b);
            q.queue(c);
            q.queue(d);
        }
        q.flush();
        CHECK(here_runs + there_runs == 4);
        return here_runs == 2; // the time counts from the end of the first item
    }));
}

// --- the guard -------------------------------------------------------------------------------------------------------

TEST_CASE("bh_disable_guard: the end of the outermost guard runs all held items in order on the same thread") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"};
    cmwq::workqueue<cmwq::bh> high{{.name = "high", .priority = cmwq::priority::high}};
    run_order order;
    item a{[&] { order.record('a'); }}, b{[&] { order.record('b'); }}, h{[&] { order.record('h'); }};
    CHECK(order.here("hab", {&q, &high}, [&] {
        const cmwq::bh_disable_guard outer;
        q.queue(a);
        {
            const cmwq::bh_disable_guard inner;
            CHECK(q.queue(b) == queue_status::queued);
            CHECK(q.queue(b) == queue_status::already_pending);
            high.queue(h);
        }
        CHECK(order.empty());
        CHECK(a.pending());
    }));

    // If the only held item is cancelled, no item runs at the end of the guard.
    order.clear();
    {
        const cmwq::bh_disable_guard hold;
        q.queue(a);
        CHECK(a.cancel());
    }
    CHECK(order.empty());

    // Inside of a bottom half a guard changes nothing.
    item with_guard{[&] {
        {
            const cmwq::bh_disable_guard hold;
            q.queue(a);
        }
        order.record('g');
    }};
    CHECK(order.here("ga", {&q}, [&] { q.queue(with_guard); }));
}

TEST_CASE("bh_disable_guard: a guard holds back items of the calling thread only") {
    const unsigned cpu = cpu_a();
    const pinned here(cpu);
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::string order;
    item a{[&] { order += 'a'; }}, b{[&] { order += 'b'; }};
    const cmwq::bh_disable_guard hold;
    q.queue(a);
    std::thread([&] {
        const pinned there(cpu);
        q.queue(b);
    }).join();
    CHECK(order == "ab"); // the other thread has run both
}

TEST_CASE("bh_disable_guard: a wait inside of a guard does not wait for the end of the guard") {
    const pinned here(cpu_a());
    cmwq::workqueue<cmwq::bh> q{"q"};
    cmwq::workqueue<> events{"events"};
    std::atomic<int> runs{0};
    std::thread::id where;
    item w{[&] {
        ++runs;
        where = std::this_thread::get_id();
    }};
    const std::thread::id me = std::this_thread::get_id();
    {
        const cmwq::bh_disable_guard hold;
        q.queue(w);
        w.flush();
        CHECK(runs == 1);
        CHECK(where != me); // this thread runs no item while it holds the guard
        q.queue(w);
        q.flush();
        CHECK(runs == 2);
        q.queue(w);
        q.drain();
        CHECK(runs == 3);
        q.queue(w);
        CHECK(w.cancel_sync()); // no item to wait for
        CHECK(runs == 3);
        {
            cmwq::workqueue<cmwq::bh> gone{"gone"};
            gone.queue(w);
        }
        CHECK(runs == 4);
        item through_another{[&] { q.flush(); }}; // waits for the item that this thread holds back
        q.queue(w);
        events.queue(through_another);
        events.flush();
        CHECK(runs == 5);
        CHECK(where != me);
    }
    CHECK(runs == 5);
}

TEST_CASE("bh_disable_guard: items beyond the capacity of a guard run on bottom-half threads; no item is lost") {
    const pinned here(cpu_a());
    std::atomic<int> runs{0};
    std::vector<std::unique_ptr<cmwq::runtime>> runtimes;
    std::vector<std::unique_ptr<cmwq::workqueue<cmwq::bh>>> queues;
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < 12; ++i) {
        runtimes.push_back(std::make_unique<cmwq::runtime>());
        queues.push_back(std::make_unique<cmwq::workqueue<cmwq::bh>>(*runtimes.back(), "q"));
        items.push_back(std::make_unique<item>([&] { ++runs; }));
    }
    {
        const cmwq::bh_disable_guard hold;
        for (std::size_t i = 0; i < items.size(); ++i) queues[i]->queue(*items[i]);
        CHECK(eventually([&] { return runs == 4; }));
    }
    CHECK(runs == 12);
}

TEST_CASE("bh_disable_guard: the queue and the runtime may be destroyed before the guard ends") {
    int runs = 0;
    item w{[&] { ++runs; }};
    const cmwq::bh_disable_guard hold;
    {
        cmwq::runtime rt;
        cmwq::workqueue<cmwq::bh> q{rt, "q"};
        q.queue(w);
        CHECK(w.cancel());
        std::thread([&] { q.drain(); }).join();
    }
    CHECK(runs == 0);
}

// --- timers, waiting, cancelling -------------------------------------------------------------------------------------

TEST_CASE("bh: a delayed item runs at its time on the bottom-half thread of its CPU") {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    std::atomic<int> runs{0};
    std::string name(16, '\0');
    cmwq::delayed_work d{[&] {
        ::pthread_getname_np(::pthread_self(), name.data(), name.size());
        ++runs;
    }};
    const unsigned cpu = cpu_b();
    CHECK(q.queue_after_on(cpu, 50ms, d) == queue_status::queued);
    clock.advance(49ms);
    q.flush();
    CHECK(runs == 0);
    CHECK(q.modify(10ms, d) == queue_status::modified);
    clock.advance(9ms);
    q.flush();
    CHECK(runs == 0);
    CHECK(d.pending());
    clock.advance(1ms);
    q.flush();
    CHECK(runs == 1);
    CHECK(name.substr(0, 5) == "cmwq/");
    CHECK(name.find(":B") != std::string::npos);

    CHECK(q.queue_after(1h, d) == queue_status::queued);
    CHECK(d.flush()); // runs the item at once; true also if the run ends before flush() looks for it
    CHECK(runs == 2);
    q.queue_after(1h, d);
    CHECK(d.cancel());
    q.queue_after(1h, d);
    q.drain();
    CHECK(runs == 3);
}

TEST_CASE("bh: flush and cancel_sync wait for a run on another thread; cancel does not") {
    const unsigned cpu = cpu_a();
    const pinned here(cpu);
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::atomic<int> runs{0};
    item w{[&] { ++runs; }};
    {
        held h(q, cpu);
        q.queue(w);
        CHECK(h.work().busy());
        CHECK_FALSE(h.work().cancel()); // it runs, so there is no instance to cancel
        CHECK(w.cancel());
        CHECK(runs == 0);
        q.queue(w);
        std::atomic<bool> flushed{false}, cancelled{false};
        std::thread flusher([&] {
            q.flush();
            flushed = true;
        });
        std::thread canceller([&] {
            h.work().cancel_sync();
            cancelled = true;
        });
        CHECK_FALSE(flushed);
        CHECK_FALSE(cancelled);
        h.let_go();
        flusher.join();
        canceller.join();
        CHECK(runs == 1);
        CHECK_FALSE(h.work().busy());
    }
    CHECK_FALSE(w.flush());
    CHECK_FALSE(w.cancel_sync());
    CHECK(w.disable() == false);
    CHECK(q.queue(w) == queue_status::disabled);
    CHECK(w.enable());
    CHECK(q.queue(w) == queue_status::queued);
    CHECK(runs == 2);
}

TEST_CASE("bh: an item may destroy itself and the item that it interrupts") {
    cmwq::workqueue<cmwq::bh> q{"q"};
    cmwq::workqueue<> events{"events"};
    auto* self = new std::optional<item>;
    std::atomic<int> runs{0};
    self->emplace([&, self] {
        ++runs;
        self->reset();
        delete self;
    });
    q.queue(**self);
    CHECK(runs == 1);

    // A worker runs the bottom half in the middle of a bound item. The bottom half destroys that item.
    std::optional<item> outer;
    std::binary_semaphore done{0};
    item inner{[&] { outer.reset(); }};
    outer.emplace([&q, &inner, &runs, &done] {
        auto& i = inner;
        auto& r = runs;
        auto& d = done; // the next call destroys this closure
        q.queue(i);
        ++r;
        d.release();
    });
    events.queue(*outer);
    done.acquire();
    events.flush();
    CHECK(runs == 2);
}

TEST_CASE("bh: drain and destruction run the pending items and reject new items from outside") {
    const unsigned cpu = cpu_a();
    const pinned here(cpu);
    int runs = 0;
    item w{[&] { ++runs; }};
    auto q = std::make_unique<cmwq::workqueue<cmwq::bh>>("q");
    auto h = std::make_unique<held>(*q, cpu);
    q->queue(w);
    std::atomic<bool> gone{false};
    std::thread t([&] {
        q->drain();
        gone = true;
    });
    item late{[&] { ++runs; }};
    CHECK(eventually([&] { return q->queue(late) == queue_status::rejected; }));
    const int before = runs;
    CHECK_FALSE(gone);
    h->let_go();
    t.join();
    CHECK(runs >= before);
    CHECK_FALSE(w.busy());
    CHECK_FALSE(late.busy());
    CHECK(q->queue(late) == queue_status::queued);
    h.reset();
    q.reset();
}

// --- exceptions and errors -------------------------------------------------------------------------------------------

TEST_CASE("bh: the handler gets the exception of an item and the queue continues") {
    std::string what;
    cmwq::workqueue<cmwq::bh> q{{.name = "q", .on_exception = [&](std::exception_ptr e) {
                                     try {
                                         std::rethrow_exception(std::move(e));
                                     } catch (const std::exception& x) {
                                         what += x.what();
                                     }
                                 }}};
    item bad{[] { throw std::runtime_error("bad"); }};
    CHECK(q.queue(bad) == queue_status::queued);
    CHECK(what == "bad");
    CHECK(cmwq::this_work::current() == nullptr);
    q.queue(bad);
    CHECK(what == "badbad");
    auto f = q.async([]() -> int { throw std::logic_error("carried"); });
    CHECK_THROWS_AS(f.get(), std::logic_error);
}

TEST_CASE("bh: impossible options are refused") {
    using q = cmwq::workqueue<cmwq::bh>;
    CHECK_THROWS_AS(q({.name = "q", .priority = cmwq::priority::fifo}), std::invalid_argument);
    q one{"one"};
    CHECK_THROWS_AS(static_cast<cmwq::workqueue_base&>(one).set_max_active(2), std::invalid_argument);
    CHECK(one.max_active() == 1);
}

TEST_CASE("bh: a call that waits is refused inside of an item and nothing changes") {
    cmwq::workqueue<cmwq::bh> q{"q"}, other{"other"};
    cmwq::workqueue<> events{"events"};
    std::vector<std::error_code> codes;
    int other_runs = 0;
    item idle{[&] { ++other_runs; }};
    item probe{[&] {
        CHECK(other.queue(idle) == queue_status::queued);
        for (const std::function<void()>& f :
             {std::function<void()>([&] { other.flush(); }), std::function<void()>([&] { other.drain(); }),
              std::function<void()>([&] { events.flush(); }), std::function<void()>([&] { idle.flush(); }),
              std::function<void()>([&] { idle.cancel_sync(); }), std::function<void()>([&] { idle.disable_sync(); })})
            codes.push_back(error_of(f));
        CHECK(idle.pending());
    }};
    q.queue(probe);
    CHECK(codes == std::vector(6, make_error_code(std::errc::operation_not_permitted)));
    CHECK(other_runs == 1);
    CHECK(other.queue(idle) == queue_status::queued); // not disabled
    CHECK(other_runs == 2);

    // As on all queues, a wait of an item for itself is a deadlock.
    codes.clear();
    item* self = nullptr;
    item own{[&] {
        codes.push_back(error_of([&] { q.flush(); }));
        codes.push_back(error_of([&] { q.drain(); }));
        codes.push_back(error_of([&] { self->flush(); }));
        codes.push_back(error_of([&] { self->cancel_sync(); }));
    }};
    self = &own;
    q.queue(own);
    CHECK(codes == std::vector(4, make_error_code(std::errc::resource_deadlock_would_occur)));
}

TEST_CASE("bh: an item may destroy an empty queue") {
    const pinned here(cpu_a());
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    auto empty = std::make_unique<cmwq::workqueue<>>(rt, "empty");
    auto empty_bh = std::make_unique<cmwq::workqueue<cmwq::bh>>(rt, "empty bh");
    item probe{[&] {
        empty.reset();
        empty_bh.reset();
    }};
    q.queue(probe);
    probe.flush();
    CHECK(empty == nullptr);
    CHECK(empty_bh == nullptr);
}

TEST_CASE("bh: a failure to make a thread is reported once and retried; no item is lost") {
    cmwq_test::fake_threads threads;
    cmwq_test::event_log events;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    threads.refuse();
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    const unsigned a = cpu_a(), b = cpu_b();
    if (a == b) return;
    const pinned here(a);
    std::atomic<int> runs{0};
    item w{[&] { ++runs; }}, v{[&] { ++runs; }};
    q.queue_on(b, w);
    CHECK(eventually([&] { return events.count(cmwq::event::kind::no_thread) == 1; }));
    CHECK(runs == 0);
    {
        const pinned there(b); // a thread that queues on its own CPU runs the items of that CPU
        q.queue(v);
    }
    CHECK(runs == 2);
    q.queue_on(b, w);
    CHECK(w.pending());
    threads.allow();
    w.flush();
    CHECK(runs == 3);
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(cmwq::event::kind::no_thread) == 1);
}

TEST_CASE("bh: an unannotated blocking item is reported once in builds with assertions") {
    cmwq_test::event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    cmwq::workqueue<cmwq::bh> q{rt, "quick"};
    std::counting_semaphore<> ask{0}, answer{0};
    cmwq::detail::thread_probe me;
    me.open_own(cmwq::detail::state_files::kept);
    std::thread t([&] {
        for (int i = 0; i < 2; ++i) {
            ask.acquire();
            static_cast<void>(eventually([&] { return me.blocked(); })); // the item sleeps until the answer
            answer.release();
        }
    });
    item w{[&] {
        ask.release();
        answer.acquire();
    }};
    q.queue(w);
    q.queue(w);
    t.join();
    CHECK(cmwq_test::all_told(rt));
#if CMWQ_ASSERTS
    CHECK(events.count(cmwq::event::kind::bh_blocked) == 1);
    CHECK(events.count(cmwq::event::kind::bh_blocked, "\"quick\"") == 1);
#else
    CHECK(events.count(cmwq::event::kind::bh_blocked) == 0);
#endif
}

TEST_CASE("bh: the counters are exact and a thread exists only after it was needed") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    item w{[] {}};
    const pinned here(cpu_a());
    for (int i = 0; i < 100; ++i) q.queue(w);
    CHECK(rt.stats().items_completed == 100);
    CHECK(rt.stats().threads == 0);
    q.queue_on(cpu_b(), w);
    w.flush();
    CHECK(rt.stats().items_completed == 101);
    const unsigned expected = cpu_a() == cpu_b() ? 0 : 1;
    CHECK(eventually([&] { return rt.stats().threads == expected; })); // it is counted when it has been started
}
