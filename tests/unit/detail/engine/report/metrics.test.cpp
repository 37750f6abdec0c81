// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/report/metrics.hpp>

#include <cmwq/detail/engine/report/metrics.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>

#include <chrono>
#include <set>
#include <sstream>
#include <string>

using namespace cmwq::detail;
using namespace std::chrono_literals;
using cmwq_test::count_of;
using cmwq_test::has;

namespace {

runtime_numbers example() {
    runtime_numbers r{.name = "main", .cpus = 4, .queues = {}, .pools = {}};
    r.queues.push_back({.name = "disk", .policy = "bound"});
    queue_numbers& q = r.queues.back();
    q.max_active = 16;
    q.counts.started = 10;
    q.counts.completed = 8;
    q.counts.cancelled = 3;
    q.counts.pending = 5;
    q.counts.inactive = 2;
    q.counts.active = 5;
    q.counts.cpu_ns = 1'234'567'890'123;
    q.counts.saturated_ns = 7;
    q.counts.blocks_by_sentinel = 6;
    q.counts.spare_wakeups = 1;
    q.run_times.add(1us, 3);
    q.run_times.add(1024us, 2);
    q.run_times.add(200s, 1);
    r.pools.push_back(
        {.number = 2, .now = {.idle = 2, .workers = 7, .made = {.first = 2, .blocked = 5}, .running = 1}});
    r.pools.push_back({.number = 9, .now = {.idle = 1, .workers = 3, .made = {.first = 2, .unmanaged = 1}}});
    return r;
}

} // namespace

TEST_CASE("metrics: each number is a sample with the labels of its queue or pool") {
    const std::string text = to_open_metrics(example());
    INFO(text);
    const std::string of_queue = "{runtime=\"main\",queue=\"disk\",policy=\"bound\"";
    const std::string of_pool = "{runtime=\"main\",pool=";
    for (const std::string& line : {
             "cmwq_items_queued_total" + of_queue + "} 18",
             "cmwq_items_started_total" + of_queue + "} 10",
             "cmwq_items_completed_total" + of_queue + "} 8",
             "cmwq_items_cancelled_total" + of_queue + "} 3",
             "cmwq_pending" + of_queue + "} 5",
             "cmwq_inactive" + of_queue + "} 2",
             "cmwq_active" + of_queue + "} 5",
             "cmwq_max_active" + of_queue + "} 16",
             "cmwq_cpu_seconds_total" + of_queue + "} 1234.567890123",
             "cmwq_saturated_seconds_total" + of_queue + "} 0.000000007",
             "cmwq_blocks_total" + of_queue + ",detector=\"sentinel\"} 6",
             "cmwq_spare_wakeups_total" + of_queue + "} 1",
             "cmwq_workers" + of_pool + "\"2\",state=\"idle\"} 2",
             "cmwq_workers" + of_pool + "\"2\",state=\"running\"} 1",
             "cmwq_workers" + of_pool + "\"2\",state=\"blocked\"} 4",
             "cmwq_workers" + of_pool + "\"9\",state=\"busy\"} 2",
             "cmwq_pool_grown_total" + of_pool + "\"2\",reason=\"blocked\"} 5",
         }) {
        INFO(line);
        CHECK(has(text, '\n' + line + '\n'));
    }
    CHECK(text.ends_with("\n# EOF\n"));
}

TEST_CASE("metrics: the classes of a histogram are added up") {
    const std::string text = to_open_metrics(example());
    INFO(text);
    const std::string of_queue = "{runtime=\"main\",queue=\"disk\",policy=\"bound\"";
    const auto bucket = [&](const std::string& bound, int n) {
        return has(text, "cmwq_run_seconds_bucket" + of_queue + ",le=\"" + bound + "\"} " + std::to_string(n) + '\n');
    };
    CHECK(bucket("0.000001024", 3));
    CHECK(bucket("0.000524288", 3));
    CHECK(bucket("0.001048576", 5));
    CHECK(bucket("137.438953472", 5));
    CHECK(bucket("+Inf", 6));
    CHECK(has(text, "cmwq_run_seconds_count" + of_queue + "} 6\n"));
    CHECK(has(text, "cmwq_run_seconds_sum" + of_queue + "} 200.002051000\n"));
    CHECK(has(text, "cmwq_wait_seconds_bucket" + of_queue + ",le=\"+Inf\"} 0\n")); // also without any wait
}

TEST_CASE("metrics: a family is one block, and no sample comes twice") {
    runtime_numbers r = example();
    r.queues.push_back({.name = "net", .policy = "elastic"});
    std::istringstream text(to_open_metrics(r));
    std::set<std::string> families, samples;
    std::string family;
    for (std::string line; std::getline(text, line);) {
        INFO(line);
        if (line == "# EOF") break;
        if (line.starts_with("# TYPE ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            CHECK(families.insert(family).second);
            continue;
        }
        if (line.starts_with("# ")) {
            CHECK(has(line, ' ' + family + ' '));
            continue;
        }
        CHECK(line.starts_with(family));
        CHECK(samples.insert(line.substr(0, line.rfind(' '))).second);
    }
    CHECK(families.size() == 20);
    CHECK(count_of(text.str(), "# EOF") == 1);
}

TEST_CASE("metrics: a name may be anything") {
    runtime_numbers r = example();
    r.name = "a\"b";
    r.queues.front().name = "line\nback\\slash \xff \u00e4";
    const std::string text = to_open_metrics(r);
    INFO(text);
    CHECK(has(text, "cmwq_pending{runtime=\"a\\\"b\",queue=\"line\\nback\\\\slash \xef\xbf\xbd \u00e4\",policy"));
}

TEST_CASE("metrics: the line adds the pools up, and names the queues at their limit") {
    runtime_numbers r = example();
    CHECK(to_line(r, 1234) == "cmwq 1234ms: cpus=4 idlecpus=1 workers=10 running=3 blocked=4 idle=3 made=10 spares=1 "
                              "pending=5 saturated=disk\n");
    r.queues.front().counts.inactive = 0;
    CHECK(has(to_line(r, 0), " saturated=-\n"));
}

TEST_CASE("metrics: the line says whose numbers are missing because of a lock") {
    runtime_numbers r = example();
    r.locked = {"net", "a\nb"};
    CHECK(has(to_line(r, 0), " saturated=disk locked=net,a\\x0ab\n"));
    r.every_queue = false;
    CHECK(has(to_line(r, 0), " saturated=disk locked=?\n"));
}
