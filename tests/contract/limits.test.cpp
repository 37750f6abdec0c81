// SPDX-License-Identifier: BSL-1.0
//
// The limits of queues that are not bound: max_active counts for the whole machine. It is divided between the NUMA
// nodes if each of them gets min_active. The machine is simulated: two nodes with two caches of four CPUs each.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "pool_name.hpp"
#include "simulated.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

constexpr unsigned nr_cpus = 16, cpus_of_node = 8;

any_options limits(unsigned max, unsigned min, attrs a = attrs{}.affinity(affinity_scope::cache)) {
    any_options o;
    o.name = "limited";
    o.max_active = max;
    o.min_active = min;
    o.attrs = std::move(a);
    return o;
}

/// Items that run until the test releases them.
class crowd {
public:
    explicit crowd(any_queue& q) : q_(q) {}
    ~crowd() { leave_.release(100'000); }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    void add(unsigned cpu, int n = 1) {
        for (; n > 0; --n) {
            items_.push_back(std::make_unique<cmwq::work<std::function<void()>>>([this] {
                const int now = ++inside_;
                int most = most_;
                while (most < now && !most_.compare_exchange_weak(most, now)) {}
                leave_.acquire();
                --inside_;
            }));
            q_.queue_on(cpu, *items_.back());
        }
    }
    void let_go(int n = 1) { leave_.release(n); }

    [[nodiscard]] bool grows_to(int n) {
        return eventually([&] { return inside_ == n; });
    }
    [[nodiscard]] int inside() const { return inside_; }
    [[nodiscard]] int most() const { return most_; }
    [[nodiscard]] cmwq::work_base& item(std::size_t i) { return *items_[i]; }

private:
    any_queue& q_;
    std::atomic<int> inside_{0}, most_{0};
    std::counting_semaphore<> leave_{0};
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items_;
};

/// Returns after the pools of these attributes have accepted all items that were queued before.
void look_at_all(const any_policy& policy, cmwq::runtime& rt, const attrs& a) {
    any_options o;
    o.attrs = a;
    any_queue other{policy, rt, std::move(o)};
    for (const unsigned cpu : rt.cpus()) other.post_on(cpu, [] {});
    other.flush();
}

} // namespace

POLICY_TEST_CASE("limits: max_active counts for the whole machine; each node gets a share according to its CPUs", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, limits(8, 1)};
    crowd first(q), second(q);
    for (unsigned cpu = 0; cpu < cpus_of_node; ++cpu) first.add(cpu, 3);
    CHECK(first.grows_to(4));
    look_at_all(policy, rt, q.attributes());
    CHECK(first.inside() == 4); // the other node has the other half of the limit
    for (unsigned cpu = cpus_of_node; cpu < nr_cpus; ++cpu) second.add(cpu, 3);
    CHECK(second.grows_to(4));
    look_at_all(policy, rt, q.attributes());
    CHECK(first.inside() + second.inside() == 8);
    CHECK(q.stats().started == 8);
    first.let_go(24);
    second.let_go(24);
    q.flush();
    CHECK(first.most() <= 4);
    CHECK(second.most() <= 4);
    CHECK(q.stats().completed == 48);
}

// proves: progress-14, kernel-2
POLICY_TEST_CASE("limits: the number of active items is max_active, however the CPUs divide it", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const attrs of_ten = attrs{}.affinity(affinity_scope::numa).cpus(cpuset::range(0, 10)), // 8 and 2 CPUs
        of_all = attrs{}.affinity(affinity_scope::cache);
    for (const attrs& a : {of_ten, of_all}) {
        for (const unsigned min : {0u, 1u}) { // 0: the default
            for (const unsigned max : {1u, 2u, 3u, 6u, 7u, 16u, 33u}) {
                CAPTURE(a.cpus().size(), min, max);
                const int n = static_cast<int>(max);
                any_queue q{policy, rt, limits(max, min, a)};
                crowd c(q);
                c.add(0, n + 2);
                c.add(8, n + 2);
                CHECK(c.grows_to(n));
                look_at_all(policy, rt, a);
                CHECK(c.inside() == n);
                c.let_go(2 * n + 4);
                q.flush();
                CHECK(c.most() == n);
            }
        }
    }
}

// proves: kernel-4
POLICY_TEST_CASE("limits: a node with fewer CPUs gets a smaller share", "", parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const attrs a = attrs{}.affinity(affinity_scope::numa).cpus(cpuset::range(0, 10)); // 8 and 2 CPUs
    any_queue q{policy, rt, limits(6, 1, a)};
    crowd first(q), second(q);
    first.add(0, 10);
    second.add(8, 10);
    CHECK(first.grows_to(5));  // 6 * 8 / 10, rounded
    CHECK(second.grows_to(1)); // the rest
    look_at_all(policy, rt, a);
    CHECK(first.inside() == 5);
    CHECK(second.inside() == 1);
    q.set_max_active(1); // shares of 0.8 and 0.2: it is not divided
    first.let_go(4);
    second.let_go(1);
    CHECK(eventually([&] { return q.stats().completed == 5; }));
    look_at_all(policy, rt, a);
    CHECK(first.inside() == 1);
    CHECK(second.inside() == 0);
    first.let_go(6);
    second.let_go(9);
    q.flush();
    CHECK(first.most() == 5);
    CHECK(second.most() == 1);
    CHECK(q.stats().completed == 20);
}

// proves: progress-14
POLICY_TEST_CASE("limits: while a node has more active items than its share the other node does not fill its own", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const attrs by_node = attrs{}.affinity(affinity_scope::numa), everywhere = attrs{}.affinity(affinity_scope::system);
    any_queue q{policy, rt, limits(8, 8, by_node)}; // not divided
    crowd first(q), second(q);
    const auto settle = [&] { look_at_all(policy, rt, by_node); };
    first.add(0, 20);
    CHECK(first.grows_to(8));
    second.add(8, 20);
    q.set_min_active(1); // four each
    settle();
    CHECK(first.inside() == 8);
    CHECK(second.inside() == 0);
    first.let_go(3); // the slots go to those who have waited longest, in turns
    CHECK(eventually([&] { return q.stats().started == 11 && first.inside() + second.inside() == 8; }));
    settle();
    CHECK(q.stats().started == 11);
    q.apply(everywhere); // the items that wait stay in their pools, which count with the new one
    second.add(8, 4);
    settle();
    CHECK(q.stats().started == 11);
    first.let_go(2);
    CHECK(eventually([&] { return q.stats().started == 13 && first.inside() + second.inside() == 8; }));
    settle();
    CHECK(q.stats().started == 13);
    q.apply(by_node);
    first.add(0, 2);
    settle();
    CHECK(q.stats().started == 13);
    first.let_go(17);
    second.let_go(24);
    q.flush();
    CHECK(q.stats().completed == 46);
    // Divided again, also without a further change.
    CHECK(eventually([&] { return rt.dump().find("  1    8   0/  4   0/  4   0/  0") != std::string::npos; }));
    first.add(0, 20);
    CHECK(eventually([&] { return first.inside() == 4; }));
    settle();
    CHECK(first.inside() == 4);
    first.let_go(20);
}

POLICY_TEST_CASE("limits: a pool that spans nodes has the whole limit", "", parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const attrs a = attrs{}.affinity(affinity_scope::system);
    any_queue q{policy, rt, limits(8, 1, a)};
    crowd c(q);
    for (unsigned cpu = 0; cpu < nr_cpus; ++cpu) c.add(cpu, 2);
    CHECK(c.grows_to(8));
    look_at_all(policy, rt, a);
    CHECK(c.inside() == 8);
    c.let_go(32);
    q.flush();
    CHECK(c.most() == 8);
}

POLICY_TEST_CASE("limits: min_active is 8 or max_active by default and is lowered with max_active", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, "q"};
    CHECK(q.max_active() == 256);
    CHECK(q.min_active() == 8);
    any_queue small{policy, rt, limits(3, 0)};
    CHECK(small.min_active() == 3);
    any_queue given{policy, rt, limits(20, 12)};
    CHECK(given.min_active() == 12);
    given.set_max_active(5);
    CHECK(given.min_active() == 5);
    given.set_max_active(100); // does not raise min_active again
    CHECK(given.min_active() == 5);
    given.set_min_active(100);
    CHECK(given.min_active() == 100);
}

POLICY_TEST_CASE("limits: impossible limits are refused and nothing changes", "", parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    CHECK_THROWS_AS(any_queue(policy, rt, limits(8, 9)), std::invalid_argument);
    CHECK_THROWS_AS(any_queue(policy, rt, limits(0, 0)), std::invalid_argument);
    CHECK_THROWS_AS(any_queue(policy, rt, limits(2049, 0)), std::invalid_argument);
    CHECK_THROWS_AS(any_queue(policy, rt, limits(2048, 2049)), std::invalid_argument);
    any_queue q{policy, rt, limits(8, 2)};
    CHECK_THROWS_AS(q.set_min_active(0), std::invalid_argument);
    CHECK_THROWS_AS(q.set_min_active(9), std::invalid_argument);
    CHECK_THROWS_AS(q.set_max_active(0), std::invalid_argument);
    CHECK_THROWS_AS(q.set_max_active(2049), std::invalid_argument);
    CHECK(q.max_active() == 8);
    CHECK(q.min_active() == 2);
    try {
        q.set_min_active(9);
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).find("1 to max_active, which is 8") != std::string::npos);
    }
    crowd c(q);
    c.add(0, 10);
    CHECK(c.grows_to(4)); // as before
    look_at_all(policy, rt, q.attributes());
    CHECK(c.inside() == 4);
}

POLICY_TEST_CASE("limits: a raised limit starts waiting items in every pod; a lowered limit stops no item", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, limits(2, 1)};
    crowd first(q), second(q);
    for (unsigned cpu = 0; cpu < cpus_of_node; cpu += 2) { // four pods in all
        first.add(cpu, 8);
        second.add(cpus_of_node + cpu, 8);
    }
    const auto both_are = [&](int n) { return first.grows_to(n) && second.grows_to(n); };
    CHECK(both_are(1));
    q.set_max_active(8);
    CHECK(both_are(4));
    q.set_max_active(32);
    CHECK(both_are(16));
    look_at_all(policy, rt, q.attributes());
    CHECK(q.stats().started == 32);
    q.set_max_active(4);
    CHECK(both_are(16));
    first.let_go(14);
    second.let_go(14);
    CHECK(eventually([&] { return q.stats().completed == 28; }));
    look_at_all(policy, rt, q.attributes());
    CHECK(q.stats().started == 32); // two items run on each node, so no other item has started
    first.let_go();
    CHECK(eventually([&] { return q.stats().started == 33; }));
    first.let_go(17);
    second.let_go(18);
    q.flush();
    CHECK(first.most() == 16);
    CHECK(second.most() == 16);
    CHECK(q.stats().completed == 64);
}

POLICY_TEST_CASE("limits: if a share is below min_active each node can have the whole limit at once", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, limits(8, 1)};
    crowd c(q);
    c.add(0, 10);
    c.add(5, 10);
    CHECK(c.grows_to(4));
    q.set_min_active(4);
    look_at_all(policy, rt, q.attributes());
    CHECK(c.inside() == 4);
    q.set_min_active(5);
    CHECK(c.grows_to(8));
    look_at_all(policy, rt, q.attributes());
    CHECK(c.inside() == 8);
    c.let_go(20);
    q.flush();
    CHECK(c.most() == 8);
}

// proves: progress-15, kernel-3
POLICY_TEST_CASE("limits: a chain of items that wait for each other completes if it is not longer than min_active", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const unsigned length = GENERATE(1u, 4u, 8u, 20u);
    const bool one_node = GENERATE(true, false), divided = GENERATE(true, false);
    any_queue q{policy, rt, limits(divided ? 2 * length : length, length)};
    std::vector<std::unique_ptr<std::binary_semaphore>> done;
    for (unsigned i = 0; i <= length; ++i) done.push_back(std::make_unique<std::binary_semaphore>(0));
    for (int round = 0; round < 5; ++round) {
        for (unsigned i = 0; i < length; ++i) {
            q.post_on(one_node ? i % cpus_of_node : i % nr_cpus, [&, i] {
                if (i + 1 < length) done[i + 1]->acquire();
                done[i]->release();
            });
        }
        done[0]->acquire();
        q.flush();
    }
    CHECK(q.stats().completed == 5 * length);
}

POLICY_TEST_CASE("limits: the pods of a node take turns when a slot becomes free", "", parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, limits(2, 1)}; // one slot for each node
    crowd holder(q);
    holder.add(0);
    CHECK(holder.grows_to(1));
    std::vector<int> order; // not atomic: one item runs at a time
    constexpr int many = 50;
    for (const unsigned cpu : {1u, 6u}) {
        for (int i = 0; i < many; ++i) q.post_on(cpu, [&order, cpu] { order.push_back(cpu < 4 ? 1 : -1); });
    }
    look_at_all(policy, rt, q.attributes());
    CHECK(order.empty());
    holder.let_go();
    q.flush();
    REQUIRE(order.size() == 2 * many);
    int ahead = 0, most_ahead = 0;
    for (const int one : order) {
        ahead += one;
        most_ahead = std::max(most_ahead, std::abs(ahead));
    }
    CHECK(most_ahead == 1);
}

// One worker of the first pool runs, and no detector helps: only the end of an item can look for the granted slot.
// proves: progress-6
TEST_CASE("limits: an item that is granted a slot starts although its pool has a backlog of another queue") {
    auto options = two_nodes();
    options.overdue_after = 0ns;
    options.cpu_hog_threshold = 0ns;
    cmwq::runtime rt{options};
    const attrs one_cpu = attrs{}.affinity(affinity_scope::cpu).strict(true);
    constexpr unsigned limit = 16, at_once = limit + limit / 8;
    constexpr int many = 5000;
    const any_policy& elastic = policy_of<cmwq::elastic>;
    any_queue q{elastic, rt, limits(1, 1, one_cpu)};
    any_queue other{elastic, rt, limits(limit, limit, one_cpu)};
    std::binary_semaphore leave{0}, done{0};
    std::atomic<bool> entered{false}, granted{false};
    std::atomic<int> nr_started{0}, nr_before{many};
    cmwq::work first{[&] { leave.acquire(); }};
    cmwq::work second{[&] {
        nr_before = nr_started.load();
        done.release();
    }};
    q.queue_on(1, first);
    look_at_all(elastic, rt, one_cpu);
    q.queue_on(0, second);
    for (int i = 0; i < many; ++i) {
        other.post_on(0, [&] {
            entered = true;
            while (!granted) {} // a pause would let another worker start
            ++nr_started;
        });
    }
    CHECK(cmwq_test::eventually([&] { return entered.load(); }));
    leave.release();
    CHECK(cmwq_test::eventually([&] { return q.stats().completed != 0; })); // now the other pool has the slot
    granted = true;
    done.acquire(); // no flush(): it looks at the pool itself
    other.flush();
    CHECK(nr_before <= static_cast<int>(at_once) + 1);
}

POLICY_TEST_CASE("limits: items that wait at the limit can be cancelled or flushed or moved to another queue", "",
                 parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, limits(2, 1)};
    any_queue free{policy, rt, "free"};
    crowd holder(q);
    holder.add(0);
    CHECK(holder.grows_to(1));
    std::atomic<int> runs{0};
    std::vector<std::unique_ptr<cmwq::delayed_work<std::function<void()>>>> items;
    for (unsigned i = 0; i < 30; ++i) {
        items.push_back(std::make_unique<cmwq::delayed_work<std::function<void()>>>([&] { ++runs; }));
        CHECK(q.queue_on(i % cpus_of_node, *items.back()) == queue_status::queued);
    }
    look_at_all(policy, rt, q.attributes());
    CHECK(runs == 0);
    for (unsigned i = 0; i < 10; ++i) CHECK(items[i]->cancel());
    for (unsigned i = 10; i < 20; ++i) CHECK(items[i]->disable_sync());
    CHECK(free.modify(0s, *items[20]) == queue_status::modified);
    items[20]->flush();
    CHECK(runs == 1);
    std::thread opener([&] { holder.let_go(); });
    items[29]->flush();
    opener.join();
    q.flush();
    CHECK(runs == 10);
    // All waiting items are cancelled: the slot is not lost with them.
    holder.add(0);
    CHECK(holder.grows_to(1));
    for (unsigned i = 0; i < 10; ++i) CHECK(q.queue_on(i % cpus_of_node, *items[i]) == queue_status::queued);
    look_at_all(policy, rt, q.attributes());
    for (unsigned i = 0; i < 10; ++i) CHECK(items[i]->cancel());
    holder.let_go();
    CHECK(q.queue_on(6, *items[0]) == queue_status::queued);
    items[0]->flush();
    CHECK(runs == 11);
}

// proves: progress-14
POLICY_TEST_CASE("limits: random operations never exceed the limits and lose no item", "", parallel_policies) {
    cmwq::runtime rt{two_nodes()};
    const attrs by_cache = attrs{}.affinity(affinity_scope::cache), by_node = attrs{}.affinity(affinity_scope::numa),
                everywhere = attrs{}.affinity(affinity_scope::system);
    any_queue q{policy, rt, limits(8, 1, by_cache)};
    stress::complaints complaints;

    // The allowed number of active items. It is raised before a change that allows more. It is lowered after a change
    // that allows less, when all items that were queued before that change have run.
    std::atomic<unsigned> allowed{8}, inside{0};
    struct item {
        std::atomic<std::uint64_t> queued{0}, cancelled{0}, ran{0};
        std::unique_ptr<cmwq::work<std::function<void()>>> work;
    };
    constexpr unsigned nr_items = 60;
    std::vector<std::unique_ptr<item>> items;
    for (unsigned i = 0; i < nr_items; ++i) {
        items.push_back(std::make_unique<item>());
        item& one = *items.back();
        one.work = std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
            complaints.expect(inside.fetch_add(1) + 1 <= allowed, "more active than the machine may have");
            if (i % 4 == 0) stress::block_for(30us);
            else stress::burn(1000);
            inside.fetch_sub(1);
            ++one.ran;
        });
    }

    std::atomic<bool> stop{false};
    std::vector<std::thread> users;
    for (unsigned t = 0; t < 3; ++t) {
        users.emplace_back([&, t] {
            stress::random r(t);
            while (!stop) {
                const unsigned n = r.below(nr_items), home = n % 3;
                item& i = *items[n];                    // home 0, 1: always queued on that node; 2: anywhere
                const auto note = [&](queue_status s) { // rejected: the queue is being drained
                    if (s == queue_status::queued) ++i.queued;
                };
                const unsigned cpu = home == 2 ? r.below(nr_cpus) : home * cpus_of_node + r.below(cpus_of_node);
                switch (r.below(8)) {
                case 0: note(home == 2 ? q.queue(*i.work) : q.queue_on(cpu, *i.work)); break;
                case 1:
                    // The node is only a hint, so items that must stay on their node do not use this call.
                    note(home == 2 ? q.queue_on_node(static_cast<unsigned>(r.below(2)), *i.work)
                                   : q.queue_on(cpu, *i.work));
                    break;
                case 2:
                    if (i.work->cancel()) ++i.cancelled;
                    break;
                case 3:
                    if (r.one_in(4)) i.work->flush();
                    break;
                default: note(q.queue_on(cpu, *i.work)); break;
                }
            }
        });
    }
    stress::random r(1000);
    unsigned max = 8, min = 1;
    for (int round = 0; round < 40; ++round) {
        unsigned new_max = max, new_min = min;
        const attrs* wanted = nullptr;
        switch (r.below(4)) {
        case 0: new_max = 1 + r.below(24), new_min = std::min(min, new_max); break;
        case 1: new_min = 1 + r.below(max); break;
        case 2: new_max = 8, new_min = 1; break;
        case 3: wanted = r.one_in(2) ? &everywhere : r.one_in(2) ? &by_node : &by_cache; break;
        }
        max = new_max, min = new_min;
        allowed = std::max(allowed.load(), max);
        if (wanted != nullptr) {
            q.apply(*wanted);
            for (int i = 0; i < 10; ++i) q.flush();
            if (r.one_in(2)) q.drain(); // an item that is queued again and again while it runs stays in its old pool
        } else {
            q.set_max_active(max);
            q.set_min_active(min);
            q.flush();
        }
        allowed = max;
        for (int i = 0; i < 10; ++i) q.flush(); // the load runs with these limits for a while
    }
    stop = true;
    for (auto& t : users) t.join();
    q.drain();
    std::uint64_t queued = 0, cancelled = 0, ran = 0;
    for (const auto& i : items) {
        CHECK_FALSE(i->work->busy());
        CHECK(i->queued == i->cancelled + i->ran);
        queued += i->queued, cancelled += i->cancelled, ran += i->ran;
    }
    CAPTURE(queued, cancelled, ran);
    CHECK(complaints.text() == "");
    CHECK(q.stats().completed == ran);
}

POLICY_TEST_CASE("limits: queue_on_node is a hint for the pod; it rejects an unknown node and leaves the item alone",
                 "", keyed_policies) {
    cmwq::runtime rt{two_nodes()};
    any_options o;
    o.attrs = attrs{}.affinity(affinity_scope::numa);
    any_queue q{policy, rt, std::move(o)};
    std::string pool;
    cmwq::work w{[&] { pool = this_pool(); }};
    for (const unsigned node : {2u, 1000u, cmwq::topology::no_node, 1u << 31}) {
        CHECK(q.queue_on_node(node, w) == queue_status::rejected);
        CHECK_FALSE(w.busy());
    }
    const auto where = [&](auto queue) {
        CHECK(queue() == queue_status::queued);
        w.flush();
        return pool;
    };
    const std::string first = where([&] { return q.queue_on(0, w); }), second = where([&] { return q.queue_on(8, w); });
    CHECK((first == second) == policy.runs_one_at_a_time); // ordered: one pool for all
    for (int i = 0; i < 10; ++i) {
        CHECK(where([&] { return q.queue_on_node(0, w); }) == first);
        CHECK(where([&] { return q.queue_on_node(1, w); }) == second);
    }
    // The queue has no CPU on node 1 now, so it cannot follow the hint.
    q.apply(attrs{}.cpus(cpuset::range(0, 8)));
    CHECK(q.queue_on_node(1, w) == queue_status::queued);
    w.flush();
    w.disable();
    CHECK(q.queue_on_node(0, w) == queue_status::disabled);
    w.enable();
}
