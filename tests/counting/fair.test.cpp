// SPDX-License-Identifier: BSL-1.0
//
// How long items of an elastic pool wait, whatever others do. Loads run on the simulated machine, which gives the exact
// times of each item: when it was queued, when it started, and how much CPU time it used. From these the promise of
// docs/dev/guarantees.md (progress-9) is checked for each item.
//
// The loads are random, and cases in which rules that seemed right were found wrong.
#include "catch.hpp"
#include "seed.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <counting/machine.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

namespace counting = cmwq::detail::counting;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using ns = std::int64_t;

constexpr ns us = 1'000, ms = 1'000 * us;
constexpr ns hog_threshold = 10 * ms; // of runtime_options
constexpr ns two_ticks = 4 * ms;
constexpr ns watchdog = 30 * ms; // many items wait for longer

/// Uses the CPU in pieces, between which other threads may get it.
void burn(ns time) {
    for (constexpr ns piece = 50 * us; time > 0; time -= piece) counting::burn(std::min(time, piece));
}

/// What is known of an item.
struct record {
    const char* kind = nullptr;
    ns cpu = 0; ///< what it burns
    ns queued = 0, started = counting::never, ended = counting::never;
    bool inside = false; ///< it ran inside an item that waited for it, or in a thread outside: no order prevents that
    bool refused = false;
    bool kept_back = false; ///< the limit of its queue may have kept it back: that may take any time
};

using queue_type = cmwq::workqueue<cmwq::elastic>;

/// A load on a machine.
class trial {
public:
    trial(unsigned cpus, bool sentinels, std::uint32_t seed)
        : nr_cpus(cpus), random(seed), rt(options(cpus, sentinels, nr_false_alarms)) {}

    /// `f(record&)`: what the item does, with its own CPU time.
    template <class F>
    void post(queue_type& on, const char* kind, ns cpu, F f) {
        record& r = begin(kind, cpu);
        r.kept_back = &on == &limited;
        if (on.post([&r, f] { run(r, f); }) != cmwq::queue_status::queued) r.refused = true; // it is being drained
    }
    static void plain(record& r) { burn(r.cpu); }
    /// So many items of a millisecond for each CPU, and then a probe.
    void add_backlog(unsigned for_each_cpu) {
        for (unsigned k = 0; k < for_each_cpu * nr_cpus; ++k) post(q, "backlog", ms, plain);
        post(q, "probe", 10 * us, plain);
    }
    /// A chain: each item queues the next one, until `stop`.
    void link(queue_type& on, ns cpu) {
        post(on, "chain", cpu, [this, &on](record& r) {
            burn(r.cpu);
            if (!stop.load(relaxed)) link(on, r.cpu);
        });
    }
    /// A tree: each item queues up to three more, as long as `left_of_tree` lasts.
    void grow(queue_type& on, ns cpu) {
        post(on, "tree", cpu, [this, &on](record& r) {
            burn(r.cpu);
            for (auto n = pick(4); n != 0 && !stop.load(relaxed) && left_of_tree.fetch_sub(1, relaxed) > 0; --n)
                grow(on, length(2 * us, 300 * us));
        });
    }
    /// Waits for small tasks.
    void group_of(queue_type& on, unsigned n, ns cpu) {
        cmwq::task_group g(on);
        for (unsigned i = 0; i < n; ++i) {
            record& r = begin("task", cpu);
            g.run([&r] { run(r, plain); });
        }
        g.wait();
    }
    /// Calls `f()` again and again, in a thread of the program.
    template <class F>
    void beside(F f) {
        threads_.push_back(&counting::spawn(nr_threads_++ % nr_cpus, [this, f] {
            while (!stop.load(relaxed)) f();
        }));
    }
    /// Posts at random times, for that long: bursts and trees, on all queues.
    void mix(ns time) {
        for (const ns end = counting::now() + scaled(time); counting::now() < end;) {
            queue_type* const all[] = {&q, &q, &other, &limited};
            queue_type& on = *all[pick(4)];
            for (unsigned n = 1 + pick(40); n != 0; --n) post(on, "out", length(2 * us, 2 * ms), plain);
            if (pick(4) == 0) {
                left_of_tree.store(500, relaxed);
                grow(q, 5 * us);
            }
            counting::sleep(length(200 * us, 60 * ms));
        }
    }
    /// Lets the load go on for that time, ends it, and waits for the rest.
    void end_after(ns time) {
        counting::sleep(scaled(time));
        stop.store(true, relaxed);
        for (counting::simulated_thread* t : threads_) counting::join(*t);
        for (queue_type* one : {&q, &other, &limited}) one->drain();
    }

    [[nodiscard]] unsigned pick(unsigned n) { return static_cast<unsigned>(random() >> 8) % n; }
    [[nodiscard]] ns length(ns least, ns most) {
        const double x = static_cast<double>(random() >> 8) / (1 << 24);
        return static_cast<ns>(static_cast<double>(least) *
                               std::pow(static_cast<double>(most) / static_cast<double>(least), x));
    }

    const unsigned nr_cpus;
    std::minstd_rand random;
    atomic<bool> stop{false};
    atomic<int> left_of_tree{0};
    atomic<int> nr_false_alarms{0};
    cmwq::runtime rt;
    queue_type q{rt, {.name = "fair", .max_active = 2'000}}, other{rt, "other"},
        limited{rt, {.name = "limited", .max_active = 2}};

    [[nodiscard]] std::vector<record> take_records() {
        records_.resize(nr_records_.load(relaxed));
        return std::move(records_);
    }

private:
    /// Many CPUs run many items.
    [[nodiscard]] ns scaled(ns time) const { return nr_cpus > 8 ? time / 4 : time; }
    static cmwq::runtime_options options(unsigned cpus, bool sentinels, atomic<int>& nr_false_alarms) {
        cmwq::runtime_options o;
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, cpus));
        o.sentinel = sentinels;
        o.default_scope = cmwq::affinity_scope::system; // one pool
        o.watchdog = std::chrono::nanoseconds{watchdog};
        o.on_event = [&](const cmwq::event& e) {
            if (e.message.find("later ones were started") != std::string::npos) nr_false_alarms.fetch_add(1, relaxed);
        };
        return o;
    }
    record& begin(const char* kind, ns cpu) {
        record& r = records_.at(nr_records_.fetch_add(1, relaxed));
        r.kind = kind;
        r.cpu = cpu;
        r.queued = counting::now();
        return r;
    }
    template <class F>
    static void run(record& r, const F& f) {
        r.started = counting::now();
        const cmwq::detail::run_record* const run = cmwq::detail::own_run();
        r.inside = run == nullptr || run->nr_nested != 0 || run->is_guest();
        f(r);
        r.ended = counting::now();
    }

    std::vector<record> records_ = std::vector<record>(400'000);
    atomic<unsigned> nr_records_{0};
    std::vector<counting::simulated_thread*> threads_;
    unsigned nr_threads_ = 0;
};

// --- the promise -----------------------------------------------------------------------------------------------------

/// Sums over a range of places, each of which may grow.
class sums {
public:
    explicit sums(std::size_t n) : tree_(n + 1) {}
    void add(std::size_t at, ns x) {
        for (++at; at < tree_.size(); at += at & -at) tree_[at] += x;
    }
    /// Of the places before `end`.
    [[nodiscard]] ns before(std::size_t end) const {
        ns sum = 0;
        for (; end != 0; end -= end & -end) sum += tree_[end];
        return sum;
    }

private:
    std::vector<ns> tree_;
};

struct verdict {
    std::size_t nr_items = 0, nr_beyond = 0, nr_lost = 0;
    double worst = 0; ///< O as a part of its bound
    ns longest_wait = 0;
    std::string text; ///< of the worst item
};

/// Looks at all items of a pool.
verdict judge(std::vector<record> all, unsigned cpus) {
    std::erase_if(all, [](const record& r) { return r.refused; });
    verdict v;
    v.nr_items = all.size();
    std::sort(all.begin(), all.end(), [](const record& a, const record& b) { return a.queued < b.queued; });
    ns longest = 0; // between two takes of a worker
    for (const record& r : all) longest = std::max(longest, r.cpu);
    const ns room = cpus * (20 * ms + std::min(longest, hog_threshold));

    // A: of what was queued before and had not ended. Each item leaves the sum when it starts; of those that run, what
    // they still have to do counts.
    std::vector<const record*> by_start;
    for (const record& r : all) by_start.push_back(&r);
    std::sort(by_start.begin(), by_start.end(),
              [](const record* a, const record* b) { return a->started < b->started; });
    std::vector<ns> before(all.size());
    std::vector<const record*> running;
    ns pending = 0;
    std::size_t nr_started = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const ns now = all[i].queued;
        for (; nr_started < all.size() && by_start[nr_started]->started <= now; ++nr_started) {
            pending -= by_start[nr_started]->cpu;
            running.push_back(by_start[nr_started]);
        }
        std::erase_if(running, [now](const record* r) { return r->ended <= now; });
        before[i] = pending;
        for (const record* r : running) before[i] += std::max(r->cpu - (now - r->started), ns{0});
        pending += all[i].cpu;
    }

    // O: of what was queued more than two ticks later and started before.
    sums started(all.size());
    for (const record* const r : by_start) {
        const auto i = static_cast<std::size_t>(r - all.data());
        if (r->ended == counting::never) {
            ++v.nr_lost;
            continue;
        }
        const auto later = std::upper_bound(all.begin(), all.end(), r->queued + two_ticks,
                                            [](ns t, const record& x) { return t < x.queued; });
        const auto from = static_cast<std::size_t>(later - all.begin());
        const ns over = started.before(all.size()) - started.before(from), bound = 3 * before[i] + room;
        if (r->kept_back) {
            started.add(i, r->cpu);
            continue;
        }
        v.longest_wait = std::max(v.longest_wait, r->started - r->queued);
        if (over > bound) ++v.nr_beyond;
        if (const double part = static_cast<double>(over) / static_cast<double>(bound); part > v.worst) {
            v.worst = part;
            char text[200];
            std::snprintf(text, sizeof text, "%s of %g us: A %g ms, O %g ms, bound %g ms, waited %g ms", r->kind,
                          static_cast<double>(r->cpu) / us, static_cast<double>(before[i]) / ms,
                          static_cast<double>(over) / ms, static_cast<double>(bound) / ms,
                          static_cast<double>(r->started - r->queued) / ms);
            v.text = text;
        }
        if (!r->inside) started.add(i, r->cpu);
    }
    return v;
}

// --- the loads -------------------------------------------------------------------------------------------------------

struct load {
    const char* name;
    void (*play)(trial&);
};

const load loads[] = {
    {"chains",
     [](trial& t) {
         for (int i = 0; i < 64; ++i) t.link(t.q, 100 * us);
         t.end_after(200 * ms);
     }},
    {"lengths",
     [](trial& t) {
         for (int i = 0; i < 100; ++i) t.link(t.q, t.length(20 * us, 3 * ms));
         t.end_after(200 * ms);
     }},
    // Each of some items queues short ones, a probe, and a chain of long ones.
    {"turn",
     [](trial& t) {
         for (unsigned i = 0; i < t.nr_cpus; ++i) {
             t.post(t.q, "burst", us, [&t](record&) {
                 for (int k = 0; k < 300; ++k) t.post(t.q, "short", 10 * us, trial::plain);
                 t.post(t.q, "probe", 10 * us, trial::plain);
                 burn(5 * ms);
                 t.link(t.q, 5 * ms);
             });
         }
         t.end_after(500 * ms);
     }},
    // All old items are on one list. The other workers have fresh ones.
    {"skew",
     [](trial& t) {
         t.post(t.q, "root", us, [&t](record&) {
             for (int k = 0; k < 1000; ++k) t.post(t.q, "old", 300 * us, trial::plain);
         });
         counting::sleep(500 * us);
         for (unsigned i = 0; i < t.nr_cpus; ++i) t.link(t.q, ms);
         t.end_after(500 * ms);
     }},
    // A flush recalls local items beside a long backlog that is younger; on many CPUs beyond the limit.
    {"recall",
     [](trial& t) {
         for (unsigned i = 0; i < t.nr_cpus; ++i) {
             t.post(t.q, "burst", 8 * ms, [&t](record& r) {
                 for (int k = 0; k < 3; ++k) t.post(t.q, "probe", 10 * us, trial::plain);
                 burn(r.cpu);
             });
         }
         counting::sleep(5 * ms);
         for (unsigned k = 0; k < 100 * t.nr_cpus; ++k) t.post(t.q, "outer", 2 * ms, trial::plain);
         t.q.flush();
     }},
    // Within a tick, the items of all CPUs queue more than the pool does in a long time, behind a backlog and a probe.
    {"ties",
     [](trial& t) {
         atomic<unsigned> started{0}, go{0};
         for (unsigned i = 0; i < t.nr_cpus; ++i) {
             t.post(t.q, "burst", us, [&](record&) {
                 started.fetch_add(1, relaxed);
                 while (go.load(relaxed) == 0) burn(us);
                 for (int k = 0; k < 100; ++k) t.post(t.q, "inner", 2 * ms, trial::plain);
             });
         }
         while (started.load(relaxed) != t.nr_cpus) counting::sleep(10 * us);
         t.add_backlog(10);
         go.store(1, relaxed);
         t.end_after(300 * ms);
     }},
    // Items that wait for tasks again and again become CPU hogs, beside a backlog.
    {"hogs",
     [](trial& t) {
         for (unsigned i = 0; i < std::min(4 * t.nr_cpus, 20u); ++i) {
             t.post(t.q, "root", 0, [&t](record&) {
                 while (!t.stop.load(relaxed)) t.group_of(t.q, 4, 500 * us);
             });
             counting::sleep(10 * ms);
         }
         t.add_backlog(50);
         t.end_after(200 * ms);
     }},
    // Threads of the program wait for tasks, and run some.
    {"guests",
     [](trial& t) {
         for (int i = 0; i < 6; ++i) t.beside([&t] { t.group_of(t.q, 4, 500 * us); });
         counting::sleep(20 * ms);
         t.add_backlog(50);
         t.end_after(200 * ms);
     }},
    // Items block, with items on their lists.
    {"blocks",
     [](trial& t) {
         for (unsigned i = 0; i < 4 * t.nr_cpus; ++i) t.link(t.q, t.length(20 * us, ms));
         for (unsigned i = 0; i < 60; ++i) {
             t.post(i % 2 == 0 ? t.q : t.other, "blocks", 50 * us, [&t](record& r) {
                 for (int k = 0; k < 3; ++k) t.post(t.q, "probe", 10 * us, trial::plain);
                 burn(r.cpu);
                 counting::sleep(3 * ms);
                 t.post(t.q, "probe", 10 * us, trial::plain);
             });
             counting::sleep(ms);
         }
         t.end_after(20 * ms);
     }},
    {"mix",
     [](trial& t) {
         for (unsigned i = 0; i < 2 + t.nr_cpus; ++i) t.link(t.q, t.length(5 * us, 3 * ms));
         t.mix(200 * ms);
         t.end_after(0);
     }},
    // The same beside all calls that move items from list to list.
    {"operations",
     [](trial& t) {
         for (unsigned i = 0; i < 2 + t.nr_cpus; ++i) t.link(t.q, t.length(5 * us, 3 * ms));
         t.beside([&t] { t.q.flush(), counting::sleep(3 * ms); });
         t.beside([&t] { t.other.drain(), counting::sleep(2 * ms); });
         t.beside([&t] {
             for (const unsigned limit : {1u, 40u, 3u}) t.limited.set_max_active(limit), counting::sleep(7 * ms);
         });
         t.beside([&t] {
             cmwq::work<void (*)()> item([] { burn(100 * us); });
             t.q.queue(item);
             if (counting::now() % 2 == 0) item.flush();
             else static_cast<void>(item.cancel_sync());
         });
         t.mix(200 * ms);
         t.end_after(0);
     }},
    // The stamps of items come from before a sleep of the service thread, in which they have begun again, perhaps.
    {"sleeps",
     [](trial& t) {
         for (const ns minutes : {ns{10}, ns{37}, ns{73}, ns{110}}) {
             counting::sleep(minutes * 60'000 * ms + t.length(us, 30'000 * ms));
             t.stop.store(false, relaxed);
             for (int i = 0; i < 20; ++i) t.link(t.q, 200 * us);
             for (unsigned i = 0; i < 20 * t.nr_cpus; ++i) t.post(t.q, "out", ms, trial::plain);
             counting::sleep(10 * ms);
             t.stop.store(true, relaxed);
             t.q.drain();
         }
     }},
};

verdict check(const load& l, unsigned cpus, bool sentinels, std::uint32_t seed) {
    counting::machine m;
    m.cpus = cpus;
    m.time.slice = 500 * us; // a thread that wakes up soon gets the CPU
    m.longest = 10 * 3'600'000 * ms;
    std::vector<record> records;
    int nr_false_alarms = 0;
    const counting::outcome r = counting::simulate(m, [&] {
        const auto t = std::make_unique<trial>(cpus, sentinels, seed);
        l.play(*t);
        records = t->take_records();
        nr_false_alarms = t->nr_false_alarms.load(relaxed);
    });
    INFO(r.failure);
    REQUIRE(r);
    CHECK(nr_false_alarms == 0);
    return judge(std::move(records), cpus);
}

} // namespace

// proves: progress-9
TEST_CASE("fair: no item waits longer than the promise says") {
    const unsigned cpus = GENERATE(1u, 2u, 8u, 64u);
    const bool sentinels = GENERATE(true, false);
    for (const load& l : loads) {
        const verdict v = check(l, cpus, sentinels, static_cast<std::uint32_t>(cmwq_test::seed()));
        INFO(l.name << " on " << cpus << " CPUs" << (sentinels ? "" : ", without sentinels") << ": " << v.nr_items
                    << " items, longest wait " << v.longest_wait / us << " us, worst O " << v.worst << " of its bound ("
                    << v.text << ")");
        CHECK(v.nr_lost == 0);
        CHECK(v.nr_beyond == 0);
    }
}
