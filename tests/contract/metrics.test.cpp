// SPDX-License-Identifier: BSL-1.0
//
// What a runtime says to a monitoring system: metrics(), the file with the metrics, and the lines of `schedtrace`.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "held_elsewhere.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "temporary_folder.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/os/file.hpp>

#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <unistd.h>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

/// The value of a series whose labels contain `labels`; empty: there is none.
std::string value_of(const std::string& text, const std::string& name, const std::string& labels) {
    for (std::size_t at = text.find('\n' + name + '{'); at != std::string::npos;
         at = text.find('\n' + name + '{', at + 1)) {
        const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
        if (has(line, labels)) return line.substr(line.rfind(' ') + 1);
    }
    return {};
}

std::string content_of(const std::string& path) {
    std::string text;
    static_cast<void>(cmwq::detail::os::read_file(path.c_str(), text));
    return text;
}

/// While another thread holds the lock of the first pool with attributes.
std::string metrics_beside_locked_pool(const cmwq::runtime& rt) {
    const held_elsewhere held{[&](auto f) {
        const cmwq::detail::scoped_lock g(shared_pools_of(rt).at(0).ledger.lock);
        f();
    }};
    return rt.metrics();
}

} // namespace

POLICY_TEST_CASE("metrics: the series of a queue are its stats", "", every_policy) {
    cmwq::runtime rt{{.name = "here"}};
    any_queue q{policy, rt, at_most(policy, 1, "q")};
    cmwq::work<std::function<void()>> first{[] {}}, second{[] {}}, third{[] {}};
    gate held;
    held.hold(q);
    for (auto* w : {&first, &second, &third}) q.queue_on(first_cpu(), *w);
    CHECK(second.cancel());
    const std::string text = rt.metrics();
    const cmwq::queue_stats s = q.stats();
    held.open(1);
    q.flush();
    INFO(text);
    const std::string labels = "{runtime=\"here\",queue=\"q\",policy=\"" + std::string(policy.name) + '"';
    const auto value = [&](const char* name) { return value_of(text, std::string("cmwq_") + name, labels); };
    CHECK(value("items_queued_total") == "4");
    CHECK(value("items_started_total") == "1");
    CHECK(value("items_completed_total") == "0");
    CHECK(value("items_cancelled_total") == "1");
    CHECK(value("pending") == "2");
    CHECK(value("active") == std::to_string(s.active));
    CHECK(value("inactive") == std::to_string(s.inactive));
    if (policy.has_limit) CHECK(value("max_active") == "1");
    CHECK(text.ends_with("\n# EOF\n"));
    const std::string after = rt.metrics();
    CHECK(value_of(after, "cmwq_items_completed_total", labels) == "3");
    CHECK(value_of(after, "cmwq_run_seconds_count", labels) != "0");
}

TEST_CASE("metrics: a runtime without a name has a number, and queues of one name and policy are one series") {
    cmwq::runtime rt;
    cmwq::workqueue<> one{rt, "conn"}, two{rt, "conn"};
    cmwq::workqueue<cmwq::unbound> other{rt, "conn"};
    for (cmwq::workqueue_base* q : {static_cast<cmwq::workqueue_base*>(&one), static_cast<cmwq::workqueue_base*>(&two),
                                    static_cast<cmwq::workqueue_base*>(&other)}) {
        cmwq::work item{[] {}};
        q->queue(item);
        item.flush();
    }
    const std::string text = rt.metrics();
    INFO(text);
    CHECK(value_of(text, "cmwq_items_started_total", "queue=\"conn\",policy=\"bound\"") == "2");
    CHECK(value_of(text, "cmwq_items_started_total", "queue=\"conn\",policy=\"unbound\"") == "1");
    const std::size_t at = text.find("runtime=\"") + 9;
    CHECK(text.find_first_not_of("0123456789", at) == text.find('"', at));
}

TEST_CASE("metrics: while another thread holds a lock, the queues that need it are missing, and the others are there") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> stuck{rt, "stuck"};
    cmwq::workqueue<> free{rt, "free"};
    const std::string text = metrics_beside_locked_pool(rt);
    INFO(text);
    CHECK(value_of(text, "cmwq_pending", "queue=\"stuck\"").empty());
    CHECK(value_of(text, "cmwq_pending", "queue=\"free\"") == "0");
    CHECK(value_of(rt.metrics(), "cmwq_pending", "queue=\"stuck\"") == "0");
}

TEST_CASE("metrics: queues of one name are missing together") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> stuck{rt, "conn"};
    cmwq::workqueue<cmwq::unbound> free{rt, {.name = "conn", .attrs = cmwq::attrs{}.nice(5)}};
    const std::string text = metrics_beside_locked_pool(rt);
    INFO(text);
    CHECK(value_of(text, "cmwq_pending", "queue=\"conn\"").empty());
    CHECK(value_of(rt.metrics(), "cmwq_pending", "queue=\"conn\"") == "0");
}

TEST_CASE("metrics: the file is written at intervals") {
    const temporary_folder folder;
    const std::string file = folder.path("cmwq.prom");
    cmwq::runtime rt{{.metrics = file, .metrics_interval = 1ms}};
    REQUIRE(eventually([&] { return content_of(file).ends_with("# EOF\n"); }));
    cmwq::workqueue<> q{rt, "late"};
    CHECK(eventually([&] { return has(content_of(file), "queue=\"late\""); }));
}

TEST_CASE("metrics: a relative path stays where the runtime was made; a failure is printed once") {
    const temporary_folder folder;
    folder.write("a/stderr", "");
    const std::string file = folder.path("a/cmwq.prom"), errors = folder.path("stderr");
    const outcome o = in_child([&] {
        findings f;
        ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT, 0600), 2);
        f.expect(1, ::chdir(folder.path("a").c_str()) == 0, "chdir");
        cmwq::runtime rt{{.metrics = "cmwq.prom", .metrics_interval = 1ms, .schedtrace = 1ms}};
        f.expect(1, ::chdir("/") == 0, "chdir");
        f.expect(2, eventually([&] { return !content_of(file).empty(); }), "the file");
        std::filesystem::rename(folder.path("a"), folder.path("b")); // in one step: the file may be written just now
        f.expect(4, eventually([&] { return has(content_of(errors), "cannot be written"); }), "the message");
        const std::size_t before = count_of(content_of(errors), "cpus=");
        const auto later = [&] { return count_of(content_of(errors), "cpus=") > before + 5; }; // the same thread
        f.expect(8, eventually(later), "more lines");
        return f.wrong();
    });
    INFO(content_of(errors));
    CHECK(o.exited_with(0));
    CHECK(count_of(content_of(errors), "cmwq: the metrics cannot be written to " + file + ": No such file") == 1);
}

TEST_CASE("metrics: schedtrace prints a line for each interval") {
    const temporary_folder folder;
    const std::string file = folder.path("stderr");
    const outcome o = in_child([&] {
        ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT, 0600), 2);
        cmwq::runtime rt{{.schedtrace = 1ms}};
        cmwq::workqueue<> q{rt, {.name = "disk", .max_active = 1}};
        gate held;
        held.hold(q);
        q.post_on(first_cpu(), [] {});
        const bool said = eventually([&] { return count_of(content_of(file), " pending=1 saturated=disk\n") >= 2; });
        held.open(1);
        return said ? 0 : 1;
    });
    INFO(content_of(file));
    CHECK(o.exited_with(0));
    CHECK(has(content_of(file), "ms: cpus="));
}
