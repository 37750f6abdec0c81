// SPDX-License-Identifier: BSL-1.0
//
// The dump of a runtime as JSON: a parser of another library reads it, and finds the state of each part.
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "pool_name.hpp"

#include <cmwq/cmwq.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <semaphore>
#include <string>

using nlohmann::json;

namespace {

json json_of(const cmwq::runtime& rt) { return json::parse(rt.dump(cmwq::dump_format::json)); }

/// The element of an array whose member has that value.
json element(const json& array, const char* member, const json& value) {
    for (const json& one : array) {
        if (one.contains(member) && one[member] == value) return one;
    }
    FAIL("no element with " << member << " = " << value << " in " << array);
    return {};
}

} // namespace

TEST_CASE("dump as JSON: queues have their options, pods have their CPUs, pools have their attributes") {
    const cmwq::topology machine = cmwq::topology::synthetic("numa:2 l3:1 core:2 pu:1");
    cmwq::runtime rt{{.default_scope = cmwq::affinity_scope::cache, .machine = machine}};
    cmwq::workqueue<cmwq::unbound> bulk{rt,
                                        {.name = "bulk \"1\\2\"\n",
                                         .max_active = 6,
                                         .min_active = 2,
                                         .attrs = cmwq::attrs{}.nice(5).cpus({0, 1, 2}).strict(true),
                                         .rescuer = true,
                                         .freezable = true}};
    cmwq::workqueue<> events{rt, {.name = "events", .priority = cmwq::priority::high}};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    cmwq::workqueue<cmwq_test::strand> actor{rt, "actor"};
    const json all = json_of(rt);
    CHECK(all["format"] == 1);
    CHECK(all["cpus"] == "0-3");
    CHECK(all["unbound_cpus"] == "0-3");
    const json cache = element(all["scopes"], "name", "cache");
    CHECK(cache["default"] == true);
    CHECK(cache["pods"] == json::parse(R"([{"cpus": "0-1", "node": 0}, {"cpus": "2-3", "node": 1}])"));
    CHECK(element(all["scopes"], "name", "system")["pods"] == json::parse(R"([{"cpus": "0-3", "node": null}])"));

    const json q = element(all["queues"], "name", "bulk \"1\\2\"\n");
    CHECK(q["kind"] == "unbound");
    CHECK(q["managed"] == false);
    CHECK(q["strict"] == true);
    CHECK(q["freezable"] == true);
    CHECK(q["rescuer"].is_number());
    CHECK(q["min_active"] == 2);
    CHECK(q["max_active"] == 6);
    CHECK(q["started"] == 0);
    REQUIRE(q["pool_of_cpu"].size() == 4);
    CHECK(q["slots"].size() == 3); // two nodes, and the machine
    CHECK(q["pwqs"].size() == 2);
    const json pool = element(all["pools"], "pool", q["pool_of_cpu"][0]);
    CHECK(pool["kind"] == "shared");
    CHECK(pool["users"] == 1);
    CHECK(pool["nice"] == 5);
    CHECK(pool["cpus"] == "0-1");
    CHECK(pool["elastic"] == false);
    CHECK(element(all["pools"], "pool", q["pool_of_cpu"][2])["cpus"] == "2");
    CHECK(element(all["queues"], "name", "events")["priority"] == "high");
    CHECK(element(all["queues"], "name", "events")["rescuer"].is_null());
    CHECK(element(all["queues"], "name", "events")["managed"] == true);
    CHECK(element(all["queues"], "name", "fast")["kind"] == "bh");
    CHECK(element(all["queues"], "name", "actor")["kind"] == "ordered");
    CHECK(element(all["queues"], "name", "actor")["managed"] == true);
    CHECK(all["waits"].empty());
}

TEST_CASE("dump as JSON: runs, pending items and waits have their counts and their text") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .max_active = 1, .min_active = 1}};
    cmwq::workqueue<cmwq::unbound> other{rt, "other"};
    std::binary_semaphore entered{0}, leave{0};
    std::string pool_in_name;
    cmwq::work runs{[&] {
        cmwq::this_work::describe("a block");
        pool_in_name = cmwq_test::this_pool();
        entered.release();
        leave.acquire();
    }};
    const unsigned cpu = *rt.cpus().begin();
    q.queue_on(cpu, runs);
    entered.acquire();
    for (int i = 0; i < 5; ++i) q.post_on(cpu, [] {});
    cmwq::work waits{[&] { runs.flush(); }};
    other.queue(waits);
    json all;
    REQUIRE(cmwq_test::eventually([&] {
        all = json_of(rt);
        return all["waits"].size() == 1;
    }));
    const json queue = element(all["queues"], "name", "q"), pwq = queue["pwqs"][0];
    CHECK(pwq["active"] == 1);
    CHECK(pwq["not_started"] == 0);
    CHECK(pwq["inactive"]["count"] == 5);
    REQUIRE(pwq["inactive"]["groups"].size() == 1);
    CHECK(pwq["inactive"]["groups"][0]["count"] == 5);
    CHECK(pwq["started"] == 1);
    CHECK(pwq["completed"] == 0);
    for (const char* name : {"blocks_by_guard", "blocks_by_sentinel", "blocks_by_monitor", "spare_wakeups",
                             "repatriated", "cpu_hogs", "maydays", "rescued"}) {
        CHECK(pwq[name].is_number_unsigned());
        CHECK(queue[name].is_number_unsigned());
    }
    const json run = element(element(all["pools"], "pool", pwq["pool"])["runs"], "queue", "q");
    CHECK(run["description"] == "a block");
    CHECK("cmwq/u" + std::to_string(pwq["pool"].get<int>()) == pool_in_name);
    CHECK(run["tid"] > 0);
    CHECK(run["item"].is_string());
    const json wait = all["waits"][0];
    CHECK(wait["call"] == "flush()");
    CHECK(wait["queue"] == "other");
    CHECK(wait["for_item"] == run["item"]);
    CHECK(wait["for_function"] == run["function"]);
    leave.release();
    q.flush();
    other.flush();
}

TEST_CASE("dump as JSON: tasks of groups are told apart by what they run, while they wait and when they run") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .max_active = 1, .min_active = 1}};
    std::binary_semaphore entered{0}, leave{0};
    const auto stops = [&] {
        entered.release();
        leave.acquire();
    };
    cmwq::work first{stops};
    q.queue(first);
    entered.acquire();
    cmwq::task_group g{q};
    for (int i = 0; i < 2; ++i) g.run([&] { stops(); });
    g.run([] {});
    json pwq, groups;
    REQUIRE(cmwq_test::eventually([&] {
        pwq = element(json_of(rt)["queues"], "name", "q")["pwqs"][0];
        groups = pwq["inactive"]["groups"];
        return pwq["inactive"]["count"] == 3;
    }));
    INFO(pwq);
    CHECK(groups.size() == 2);
    CHECK(groups[0]["count"] == 2);
    CHECK(groups[0]["function"] != groups[1]["function"]);
    leave.release();
    entered.acquire(); // a worker runs a task
    const json run = element(element(json_of(rt)["pools"], "pool", pwq["pool"])["runs"], "queue", "q");
    CHECK(run["function"] == groups[0]["function"]);
    leave.release();
    entered.acquire();
    leave.release();
    g.wait();
}

// The limit lets no other worker run the task.
TEST_CASE("dump as JSON: a task in the wait of an item has a run, and a description, of its own") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .max_active = 1}};
    std::binary_semaphore entered{0}, go_on{0};
    const auto stop = [&] {
        entered.release();
        go_on.acquire();
    };
    cmwq::work outer{[&] {
        cmwq::this_work::describe("outer");
        cmwq::task_group g{q};
        g.run([&] {
            stop();
            cmwq::this_work::describe("inner");
            stop();
        });
        g.wait();
        stop();
    }};
    const auto runs = [&] {
        json all;
        REQUIRE(cmwq_test::eventually([&] {
            all = json::array();
            const json now = json_of(rt);
            for (const json& pool : now["pools"]) {
                if (pool["locked"] == true) return false;
                for (const json& run : pool["runs"]) all.push_back(run);
            }
            return true;
        }));
        return all;
    };
    q.queue(outer);
    json seen[3];
    std::uint64_t running[3];
    for (int i = 0; i < 3; ++i) {
        entered.acquire();
        seen[i] = runs();
        running[i] = q.stats().running;
        go_on.release();
    }
    q.flush();
    for (int i = 0; i < 2; ++i) { // in the task
        const json& both = seen[i];
        INFO(both);
        CHECK(running[i] == 2);
        REQUIRE(both.size() == 2);
        CHECK(both[0]["item"].is_string());
        CHECK(both[0]["nested"] == false);
        CHECK(both[0]["description"] == "outer");
        CHECK(both[1]["item"].is_null());
        CHECK(both[1]["nested"] == true);
        CHECK(both[1]["description"] == (i == 0 ? "" : "inner"));
        CHECK(both[1]["queue"] == "q");
        CHECK(both[1]["tid"] == both[0]["tid"]);
        CHECK(both[1]["function"] != both[0]["function"]);
    }
    INFO(seen[2]);
    REQUIRE(seen[2].size() == 1);
    CHECK(running[2] == 1);
    CHECK(seen[2][0]["description"] == "outer");
}

TEST_CASE("dump as JSON: names and descriptions may be any bytes, and are cut between characters") {
    cmwq::runtime rt;
    const std::string euro = "\xe2\x82\xac";
    std::string longer;
    for (int i = 0; i < 30; ++i) longer += euro; // the names of pending items are cut
    cmwq::workqueue<> euros{rt, longer};
    cmwq::workqueue<> bytes{rt, "\xff\xc3(\x80"};
    std::binary_semaphore entered{0}, leave{0};
    cmwq::work runs{[&] {
        cmwq::this_work::describe(longer);
        entered.release();
        leave.acquire();
    }};
    euros.queue(runs);
    entered.acquire();
    const std::string text = rt.dump(cmwq::dump_format::json);
    leave.release();
    runs.flush();
    const json all = json::parse(text); // throws if the text is not UTF-8
    CHECK(element(all["queues"], "name", longer)["kind"] == "percpu");
    CHECK(element(all["queues"], "name", "\ufffd\ufffd(\ufffd")["kind"] == "percpu");
    bool seen = false;
    for (const json& pool : all["pools"]) {
        for (const json& run : pool.value("runs", json::array())) {
            seen = true;
            CHECK(run["queue"] == longer.substr(0, 63));
            CHECK(run["description"] == longer.substr(0, 30));
        }
    }
    CHECK(seen);
}
