// SPDX-License-Identifier: BSL-1.0
//
// The dump of a runtime: a text that contains every queue with its pools, and every pool with its threads.
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "held_elsewhere.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using cmwq_test::first_cpu;
using cmwq_test::gate;
using cmwq_test::has;

namespace {

std::string line_of(const std::string& text, std::string_view begin) {
    const std::size_t at = text.find("\n" + std::string(begin));
    if (at == std::string::npos) return {};
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// The dump without a part that was left out because another thread held a lock at that moment.
std::string dump_of(cmwq::runtime& rt) {
    std::string text;
    REQUIRE(cmwq_test::eventually([&] {
        text = rt.dump();
        return !has(text, "locked by another thread");
    }));
    return text;
}

} // namespace

TEST_CASE("dump: the text contains all pods and pools; for each queue also its pools and limits") {
    const cmwq::topology machine = cmwq::topology::synthetic("numa:2 l3:1 core:2 pu:1");
    cmwq::runtime rt{{.default_scope = cmwq::affinity_scope::cache, .machine = machine}};
    cmwq::workqueue<> events{rt, "events"};
    cmwq::workqueue<cmwq::unbound> bulk{
        rt, {.name = "bulk", .max_active = 6, .min_active = 2, .attrs = cmwq::attrs{}.nice(5)}};
    cmwq::workqueue<cmwq::elastic> pool{rt, {.name = "pool", .attrs = cmwq::attrs{}.strict(true)}};
    cmwq::workqueue<cmwq::ordered> journal{rt, "journal"};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    for (cmwq::workqueue_base* q :
         {static_cast<cmwq::workqueue_base*>(&events), static_cast<cmwq::workqueue_base*>(&bulk)}) {
        cmwq::work item{[] {}};
        q->queue_on(0, item);
        item.flush();
    }
    const std::string text = dump_of(rt);
    INFO(text);
    CHECK(text.starts_with(describe(machine, cmwq::affinity_scope::cache)));
    // Queues: one column for each CPU. The CPUs of a pod share a pool, and no pool serves two attribute sets.
    CHECK(has(line_of(text, "events "), "percpu"));
    CHECK(has(line_of(text, "fast "), "bh"));
    const std::string of_bulk = line_of(text, "bulk "), of_pool = line_of(text, "pool "),
                      of_journal = line_of(text, "journal ");
    CHECK(has(of_bulk, "unbound"));
    CHECK(has(of_pool, "elastic ,S"));
    CHECK(has(of_journal, "ordered"));
    CHECK(of_bulk.ends_with(" 20  20  21  21")); // four CPUs have five pools each
    CHECK(of_pool.ends_with(" 22  22  23  23"));
    CHECK(of_journal.ends_with(" 24  24  24  24"));
    // Pools: the pools that have threads, and all shared pools.
    CHECK(has(line_of(text, "pool[00] "), "cpu=  0"));
    CHECK(line_of(text, "pool[05] ").empty());
    CHECK(has(line_of(text, "pool[20] "), "ref=  1 nice=  5 idle/workers="));
    CHECK(has(line_of(text, "pool[20] "), "cpus=0000000f pod_cpus=00000003"));
    CHECK(has(line_of(text, "pool[21] "), "idle/workers=  0/  0 cpus=0000000f pod_cpus=0000000c"));
    CHECK(has(line_of(text, "pool[23] "), "cpus=0000000c elastic"));
    // Limits: half of six for each node, and nothing for the machine.
    const std::string limits = text.substr(text.find("Unbound WQ -> active"));
    CHECK(has(line_of(limits, "bulk "), "2    6   0/  3   0/  3   0/  0"));
}

TEST_CASE("dump: the mask of unbound CPUs is the current mask of the runtime") {
    const cmwq::topology machine = cmwq::topology::synthetic("numa:2 l3:1 core:2 pu:1");
    cmwq::runtime rt{{.unbound_cpus = {0, 1, 3}, .machine = machine}};
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu)}};
    CHECK(line_of(dump_of(rt), "wq_unbound_cpumask=") == "wq_unbound_cpumask=0000000b");
    rt.set_unbound_cpus({2, 3});
    const std::string text = dump_of(rt);
    INFO(text);
    CHECK(line_of(text, "wq_unbound_cpumask=") == "wq_unbound_cpumask=0000000c");
    CHECK(text.starts_with(describe(machine, cmwq::cpuset{2, 3}, cmwq::affinity_scope::default_)));
    CHECK(has(text, "nr_pods  4")); // the pods of the machine stay the same
    // Each caller on a CPU that the queue does not use gets one of the pools of the queue.
    const std::string row = line_of(text, "q ");
    REQUIRE(row.size() > 8);
    const std::string of_its_cpus = row.substr(row.size() - 8);
    CHECK(row.ends_with(of_its_cpus + of_its_cpus));
}

TEST_CASE("dump: two queues of equal attributes count as two users of a pool") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> a{rt, "a"};
    const std::string one = dump_of(rt);
    {
        cmwq::workqueue<cmwq::unbound> b{rt, "b"};
        CHECK(has(dump_of(rt), "ref=  2"));
    }
    CHECK(dump_of(rt) == one);
    CHECK_FALSE(has(one, "ref=  2"));
}

TEST_CASE("dump: a power_efficient queue is elastic if the runtime saves power and bound otherwise") {
    cmwq::runtime frugal{{.power_efficient = true}}, fast;
    const auto make = [](cmwq::runtime& rt, bool option) {
        return std::make_unique<cmwq::workqueue<>>(
            rt, cmwq::options<>{.name = "q", .priority = cmwq::priority::high, .power_efficient = option});
    };
    for (const bool option : {false, true}) {
        const auto there = make(frugal, option), here = make(fast, option);
        CHECK(has(line_of(dump_of(frugal), "q "), option ? "elastic" : "percpu"));
        CHECK(has(line_of(dump_of(fast), "q "), "percpu"));
        if (option) CHECK(has(dump_of(frugal), "nice=-20"));
        cmwq::work item{[] {}};
        there->queue(item);
        item.flush(); // or it has run already
    }
}

TEST_CASE("dump: the text contains the scheduling class of a pool") {
    cmwq::runtime rt{{.machine = cmwq::topology::synthetic("numa:1 l3:1 core:1 pu:1")}};
    cmwq::workqueue<cmwq::unbound> batch{
        rt, {.name = "batch", .attrs = cmwq::attrs{}.nice(3).scheduling(cmwq::scheduling::batch)}};
    cmwq::workqueue<cmwq::unbound> idle{rt,
                                        {.name = "idle", .attrs = cmwq::attrs{}.scheduling(cmwq::scheduling::idle)}};
    const std::string text = dump_of(rt);
    INFO(text);
    CHECK(has(text, "batch, nice=  3 idle/workers="));
    CHECK(has(text, " idle idle/workers="));
}

TEST_CASE("dump: the text contains each running item, its thread's activity, and the items that wait behind it") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .max_active = 1, .min_active = 1}};
    std::binary_semaphore entered{0}, leave{0};
    cmwq::work blocks{[&] {
        cmwq::this_work::describe("the first block");
        entered.release();
        leave.acquire();
    }};
    CHECK(has(dump_of(rt), "\nBusy workers\n============\n\nPending items\n=============\n\nWaiting items\n"));
    const auto of_this_cpu = [&](auto& w) { q.queue_on(*rt.cpus().begin(), w); };
    of_this_cpu(blocks);
    entered.acquire();
    of_this_cpu(blocks); // behind its own run
    cmwq::work a{[] {}};
    cmwq::work b{[] {}};
    of_this_cpu(a);
    of_this_cpu(b);
    for (int i = 0; i < 1200; ++i) q.post_on(*rt.cpus().begin(), [] {});
    cmwq::work last{[] {}};
    of_this_cpu(last);
    CHECK(last.cancel()); // the search for it accepts the items before
    std::string text;
    CHECK(cmwq_test::eventually([&] {
        text = dump_of(rt);
        return has(text, "waits in futex");
    }));
    INFO(text);
    const std::string run = line_of(text.substr(text.find("Busy workers")), "pool[");
    CHECK(has(run, " waits in futex (system call "));
    CHECK(has(run, ") of queue \"q\""));
    CHECK(has(run, " (the first block)"));
    const std::string behind = line_of(text.substr(text.find("Pending items")), "pool[");
    CHECK(has(behind, " queue \"q\", active 1 (0 not started), inactive 1203:"));
    CHECK(has(behind, ", 997*")); // after three other items; the walk of a list ends after a thousand items
    CHECK(has(behind, " and 203 more"));
    leave.release(2);
    q.flush();
    CHECK(cmwq_test::eventually([&] { return !has(dump_of(rt), "inactive"); }));
}

TEST_CASE("dump: while another thread holds a lock of the library, the report says so and shows the rest") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    cmwq::workqueue<> other{rt, "other"};
    std::binary_semaphore entered{0}, leave{0};
    cmwq::work runs{[&] {
        entered.release();
        leave.acquire();
    }};
    other.queue(runs);
    entered.acquire();
    const auto form = GENERATE(cmwq::dump_format::text, cmwq::dump_format::json);
    const std::string_view locked = form == cmwq::dump_format::text ? "locked by another thread" : "locked\":true";
    REQUIRE(cmwq_test::eventually([&] {
        const std::string text = rt.dump(form);
        return has(text, "waits in futex") && !has(text, locked);
    }));
    SECTION("of a pool") {
        const cmwq_test::held_elsewhere held{[&](auto f) {
            const cmwq::detail::scoped_lock g(cmwq_test::shared_pools_of(rt).at(0).ledger.lock);
            f();
        }};
        const std::string text = rt.dump(form);
        CHECK(has(text, locked));
        CHECK(has(text, "other"));
        CHECK(has(text, "waits in futex"));
    }
    SECTION("of the settings") {
        const cmwq_test::held_elsewhere held{[&](auto f) {
            const cmwq::detail::scoped_lock g(cmwq_test::core_of(rt).placing().lock());
            f();
        }};
        const std::string text = rt.dump(form);
        CHECK(has(text, form == cmwq::dump_format::text ? locked : "\"unbound_cpus\":null"));
        CHECK_FALSE(has(text, "wq_unbound_cpumask")); // no mask and no default rather than wrong ones
        CHECK_FALSE(has(text, "(default)"));
        CHECK_FALSE(has(text, "\"default\":true"));
        CHECK(has(text, form == cmwq::dump_format::text ? "CACHE_SHARD\n" : "\"cache_shard\""));
        CHECK(has(text, "waits in futex"));
    }
    SECTION("of the list of queues") {
        const cmwq_test::held_elsewhere held{[&](auto f) { cmwq_test::core_of(rt).queues().with_all_kept(f); }};
        const std::string text = rt.dump(form);
        CHECK(has(text, locked));
        CHECK(has(text, "waits in futex"));
    }
    leave.release();
    other.flush();
    CHECK(cmwq_test::eventually([&] { return !has(rt.dump(form), locked); }));
}

TEST_CASE("dump: it shows items that no thread has accepted yet, and moves nothing") {
    cmwq::runtime rt{{.watchdog = 0ns}}; // the watchdog accepts items
    cmwq::workqueue<cmwq::bh> q{rt, "held up"};
    gate computes;
    computes.hold(q); // a thread that queues an item behind it only wakes that one
    const auto nothing = [] {};
    const auto post = [&] {
        for (int i = 0; i < 1000; ++i) q.post_on(first_cpu(), nothing);
    };
    post();
    std::string text = dump_of(rt);
    INFO(text);
    CHECK(has(text, "pending 1000: 1000*"));
    bool arrived = false;
    cmwq_test::core_of(rt).pools().for_each_bottom_half([&](auto& p) { arrived |= p.ledger.has_arrivals(); });
    CHECK(arrived);
    post();
    text = dump_of(rt);
    CHECK(has(text, "pending 1000 or more: 1000*")); // it looks at a thousand, the newest ones
    computes.open();
    q.flush();
}

TEST_CASE("dump: it does not read the topology") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    CHECK(has(rt.dump(), "(the scopes: not known yet"));
    CHECK(has(rt.dump(cmwq::dump_format::json), "\"scopes\":null"));
    CHECK(cmwq_test::core_of(rt).env().cpus.machine_if_loaded() == nullptr);
    CHECK(rt.machine().cpus() == rt.cpus());
    CHECK(has(rt.dump(), "CACHE_SHARD (default)\n"));
}

TEST_CASE("dump: control characters of names are shown, and neither break lines nor reach a terminal") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "a\nb\x1b[31m"};
    std::binary_semaphore entered{0}, leave{0};
    q.post([&] {
        cmwq::this_work::describe("c\td");
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    const std::string text = dump_of(rt);
    leave.release();
    INFO(text);
    CHECK(has(text, "of queue \"a\\x0ab\\x1b[31m\" (c\\x09d)\n"));
    CHECK(has(text, "\na\\x0ab\\x1b[31m "));
    CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("dump: pending items of two queues are told apart if one name begins with the other") {
    const cmwq::topology machine = cmwq::topology::synthetic("numa:1 l3:1 core:1 pu:1");
    cmwq::runtime rt{{.machine = machine, .cpu_hog_threshold = 0ns, .overdue_after = 0ns}}; // one item at a time
    cmwq::workqueue<> first{rt, "q1"}, second{rt, "q10"};
    std::binary_semaphore entered{0}, leave{0};
    const auto occupy = [&] {
        entered.release();
        while (!leave.try_acquire()) {} // it keeps the CPU of the pool
    };
    first.post(occupy);
    entered.acquire();
    const auto nothing = [] {};
    first.post(nothing);
    second.post(nothing);
    second.post(nothing);
    const std::string text = dump_of(rt);
    leave.release();
    first.flush();
    second.flush();
    INFO(text);
    CHECK(has(text, "pending 3: "));
    CHECK(has(text, "of queue \"q1\", 2*"));
}
