// SPDX-License-Identifier: BSL-1.0
//
// control_socket: another process sees what a runtime does, and changes what the program has exported.
#include "catch.hpp"
#include "child.hpp"
#include "control_client.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "gate.hpp"
#include "held_elsewhere.hpp"
#include "perfetto_reader.hpp"
#include "temporary_folder.hpp"
#include "threads_named.hpp"
#include "uninterrupted.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>
#include <cmwq/trace.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <time.h>
#include <unistd.h>

using namespace cmwq_test;
using namespace std::chrono_literals;
using nlohmann::json;
using namespace nlohmann::literals;

namespace {

/// A runtime with a control socket, and a client.
struct controlled {
    temporary_folder folder;
    cmwq::runtime rt;
    cmwq::control_socket socket{rt, {.folder = folder.path("")}};
    control_client client{socket.path()};

    json get(const char* queue) { return client.ask({{"do", "get"}, {"queue", queue}}).at("attributes"); }
    json set(const char* queue, const char* attribute, const std::string& value) {
        return client.ask({{"do", "set"}, {"queue", queue}, {"attribute", attribute}, {"value", value}});
    }
    json set(const char* attribute, const std::string& value) {
        return client.ask({{"do", "set"}, {"attribute", attribute}, {"value", value}});
    }
    /// `value`: JSON.
    json set_to(const std::string& queue, const std::string& attribute, const std::string& value) {
        return client.ask_for(json::parse(R"({"do": "set", "queue": ")" + queue + R"(", "attribute": ")" + attribute +
                                          R"(", "value": )" + value + '}'));
    }
};

std::string error_of(const json& answer) { return answer.value("error", ""); }

} // namespace

TEST_CASE("control: each exported queue shows the attributes of its policy") {
    controlled c;
    cmwq::workqueue<> bound{c.rt, {.name = "bound", .max_active = 3, .exported = true}};
    cmwq::workqueue<cmwq::elastic> elastic{c.rt,
                                           {.name = "elastic",
                                            .max_active = 20,
                                            .attrs = cmwq::attrs{}.nice(5).affinity(cmwq::affinity_scope::numa),
                                            .exported = true}};
    cmwq::workqueue<cmwq::unbound> unbound{c.rt,
                                           {.name = "unbound", .attrs = cmwq::attrs{}.strict(true), .exported = true}};
    cmwq::workqueue<cmwq::ordered> ordered{c.rt, {.name = "ordered", .exported = true}};
    cmwq::workqueue<cmwq::elastic> hidden{c.rt, "hidden"};
    CHECK(c.get("bound") == R"({"max_active": "3"})"_json);
    CHECK(c.get("elastic") == R"({"max_active": "20", "min_active": "8", "nice": "5", "cpumask": "all",
                                   "affinity_scope": "numa", "affinity_strict": "0"})"_json);
    CHECK(c.get("unbound")["affinity_scope"] == "default (cache_shard)");
    CHECK(c.get("unbound")["affinity_strict"] == "1");
    CHECK(c.get("ordered") == R"({"nice": "0", "cpumask": "all"})"_json);
    CHECK(error_of(c.client.ask({{"do", "get"}, {"queue", "hidden"}})).find("'hidden'") != std::string::npos);
    CHECK(c.client.ask({{"do", "get"}}).at("exported") == R"(["bound", "elastic", "unbound", "ordered"])"_json);
}

TEST_CASE("control: a queue that power_efficient has made elastic has only the attributes of its policy") {
    const temporary_folder folder;
    cmwq::runtime rt{{.power_efficient = true}};
    cmwq::workqueue<> q{rt, {.name = "q", .max_active = 4, .power_efficient = true, .exported = true}};
    const cmwq::control_socket socket{rt, {.folder = folder.path("")}};
    control_client client{socket.path()};
    CHECK(client.ask({{"do", "get"}, {"queue", "q"}}).at("attributes") == R"({"max_active": "4"})"_json);
}

// proves: observe-7
TEST_CASE("control: what is set is in effect, while items run") {
    controlled c;
    cmwq::workqueue<cmwq::elastic> q{c.rt, {.name = "q", .exported = true}};
    gate held;
    held.hold(q);
    CHECK(c.set_to("q", "max_active", "1").at("attributes").at("max_active") == "1");
    CHECK(q.max_active() == 1);
    CHECK(q.min_active() == 1);
    q.post([] {});
    CHECK(eventually([&] { return q.stats().inactive == 1; }));
    c.set("q", "max_active", "30");
    CHECK(eventually([&] { return q.stats().inactive == 0; }));
    c.set("q", "min_active", "7");
    CHECK(q.min_active() == 7);
    const unsigned cpu = *c.rt.unbound_cpus().begin();
    CHECK(c.set("q", "cpumask", std::to_string(cpu)).at("attributes").at("cpumask") == std::to_string(cpu));
    CHECK(q.attributes().cpus() == cmwq::cpuset{cpu});
    c.set("q", "cpumask", "all");
    CHECK(q.attributes().on_all_cpus());
    c.set("q", "nice", "-1");
    CHECK(q.attributes().nice() == -1);
    c.set("q", "affinity_scope", "cpu");
    CHECK(q.attributes().affinity() == cmwq::affinity_scope::cpu);
    c.set("q", "affinity_scope", "default");
    CHECK(q.attributes().affinity() == cmwq::affinity_scope::default_);
    c.set_to("q", "affinity_strict", "true");
    CHECK(q.attributes().strict());
    held.open();
    q.flush();
}

// proves: observe-7
TEST_CASE("control: what is refused is named, and changes nothing") {
    controlled c;
    cmwq::workqueue<cmwq::elastic> elastic{c.rt, {.name = "elastic", .exported = true}};
    cmwq::workqueue<> bound{c.rt, {.name = "bound", .exported = true}};
    cmwq::workqueue<cmwq::ordered> ordered{c.rt, {.name = "ordered", .exported = true}};
    const json before[] = {c.get("elastic"), c.get("bound"), c.get("ordered"), c.client.ask({{"do", "get"}})};
    struct row {
        const char *queue, *attribute, *value, *says; // `value`: JSON
    };
    const row rows[] = {
        {"elastic", "max_active", "0", "1 to 2048"},
        {"elastic", "max_active", "4000", "1 to 2048"},
        {"elastic", "max_active", R"("many")", "whole number, 1 to 2048"},
        {"elastic", "max_active", "1.5", "\"value\" is a text, a whole number or a boolean"},
        {"elastic", "max_active", "null", "\"value\" is a text, a whole number or a boolean"},
        {"elastic", "min_active", R"("few")", "1 to max_active, which is 256"},
        {"elastic", "min_active", "257", "min_active"},
        {"elastic", "nice", "20", "-20 to 19"},
        {"elastic", "nice", R"("--1")", "-20 to 19"},
        {"elastic", "cpumask", R"("60000")", "60000"},
        {"elastic", "cpumask", R"("x")", "as 0-3,8, or all"},
        {"elastic", "cpumask", R"("")", "list of CPUs"},
        {"elastic", "affinity_scope", R"("galaxy")", "cpu smt cache cache_shard numa system default"},
        {"elastic", "affinity_strict", R"("maybe")", "0, 1, false or true"},
        {"elastic", "color", R"("red")", "no attribute 'color'; it has max_active, min_active, nice"},
        {"bound", "nice", "1", "no attribute 'nice'; it has max_active"},
        {"ordered", "max_active", "2", "no attribute 'max_active'; it has nice, cpumask"},
        {"absent", "max_active", "2", "'absent' is exported, as its option .exported = true"},
        {"absent", "max_active", "2", "exported are elastic, bound, ordered"},
        {"watchdog", "max_active", "2", "watchdog is an attribute of the runtime"},
    };
    for (const row& r : rows) {
        INFO(r.queue << ' ' << r.attribute << '=' << r.value);
        CHECK_THAT(error_of(c.set_to(r.queue, r.attribute, r.value)), Catch::Contains(r.says));
    }
    CHECK_THAT(error_of(c.set("watchdog", "soon")), Catch::Contains("wants a duration"));
    CHECK_THAT(error_of(c.set("watchdog", "-1s")), Catch::Contains("wants a duration"));
    CHECK_THAT(error_of(c.set("unbound_cpus", "60000")), Catch::Contains("60000"));
    CHECK_THAT(error_of(c.set("default_scope", "default")), Catch::Contains("cache_shard"));
    CHECK_THAT(error_of(c.set("color", "red")), Catch::Contains("no attribute 'color'; it has unbound_cpus"));
    CHECK_THAT(error_of(c.set("unbound_cpus", "x")), Catch::EndsWith("as 0-3,8"));
    CHECK(c.get("elastic") == before[0]);
    CHECK(c.get("bound") == before[1]);
    CHECK(c.get("ordered") == before[2]);
    CHECK(c.client.ask({{"do", "get"}}) == before[3]);
}

TEST_CASE("control: what can be set of a runtime") {
    controlled c;
    const std::string cpu = std::to_string(*c.rt.cpus().begin());
    c.set("watchdog", "2min");
    c.set("may_block_threshold", "3us");
    c.set("cpu_hog_threshold", "0");
    c.set("cpu_hog_warning_threshold", "9");
    c.set("overdue_after", "5ms");
    c.set("unbound_cpus", cpu);
    const json now = c.set("default_scope", "numa").at("attributes");
    json expected = R"({"watchdog": "2min", "may_block_threshold": "3us", "cpu_hog_threshold": "0",
                        "cpu_hog_warning_threshold": "9", "overdue_after": "5ms", "default_scope": "numa"})"_json;
    expected["unbound_cpus"] = cpu;
    CHECK(now == expected);
    CHECK(c.rt.thresholds().watchdog == 2min);
    CHECK(c.rt.thresholds().may_block_threshold == 3us);
    CHECK(c.rt.thresholds().cpu_hog_threshold == 0s);
    CHECK(c.rt.thresholds().cpu_hog_warning_threshold == 9);
    CHECK(c.rt.thresholds().overdue_after == 5ms);
    CHECK(c.rt.default_scope() == cmwq::affinity_scope::numa);
    CHECK(c.rt.unbound_cpus().to_string() == cpu);
}

TEST_CASE("control: one attribute is asked for, and one that there is not is answered with those that there are") {
    controlled c;
    const cmwq::workqueue<cmwq::ordered> q{c.rt, {.name = "q", .exported = true}};
    CHECK(c.client.ask({{"do", "get"}, {"queue", "q"}, {"attribute", "nice"}}).at("attributes") ==
          R"({"nice": "0"})"_json);
    CHECK(c.client.ask({{"do", "get"}, {"attribute", "default_scope"}}).at("attributes") ==
          R"({"default_scope": "cache_shard"})"_json);
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"queue", "q"}, {"attribute", "color"}})),
               Catch::Contains("there are nice, cpumask"));
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"attribute", "color"}})),
               Catch::Contains("there are unbound_cpus, default_scope"));
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"queue", "watchdog"}})),
               Catch::Contains("an attribute of the runtime"));
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"queue", "x"}})), Catch::EndsWith("exported are q"));
}

TEST_CASE("control: where no queue is exported, the error says so") {
    controlled c;
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"queue", "x"}})), Catch::EndsWith("; no queue is"));
    std::list<cmwq::workqueue<>> many;
    for (char name = 'a'; name <= 'i'; ++name) {
        many.emplace_back(c.rt, cmwq::options<>{.name = std::string(1, name), .exported = true});
    }
    CHECK_THAT(error_of(c.client.ask({{"do", "get"}, {"queue", "x"}})), Catch::EndsWith("g, h, and others"));
}

TEST_CASE("control: two exported queues of a runtime have different names") {
    cmwq::runtime rt, other;
    auto first = std::make_unique<cmwq::workqueue<>>(rt, cmwq::options<>{.name = "q", .exported = true});
    using elastic = cmwq::workqueue<cmwq::elastic>;
    CHECK_THROWS_AS(elastic(rt, {.name = "q", .exported = true}), std::invalid_argument);
    const cmwq::workqueue<> hidden{rt, "q"}, elsewhere{other, {.name = "q", .exported = true}};
    first.reset();
    CHECK_NOTHROW(elastic(rt, {.name = "q", .exported = true}));
}

TEST_CASE("control: hello, the numbers of queues, metrics, stalls and dumps") {
    controlled c;
    cmwq::workqueue<> q{c.rt, "q \xff"}; // a name is any bytes
    q.post([] {});
    q.flush();
    const json hello = c.client.ask({{"do", "hello"}});
    CHECK(hello.at("protocol") == 1);
    CHECK(hello.at("pid") == ::getpid());
    CHECK(hello.at("version") == "0.1.0");
    CHECK(hello.at("program") == "cmwq_contract");
    const json numbers = c.client.ask({{"do", "queues"}}).at("queues").at(0);
    CHECK(numbers.at("name") == "q \ufffd");
    CHECK(numbers.at("policy") == "bound");
    CHECK(numbers.at("started") == 1);
    CHECK(numbers.at("completed") == 1);
    CHECK(c.client.ask({{"do", "metrics"}}).at("text").get<std::string>().ends_with("# EOF\n"));
    CHECK(c.client.ask({{"do", "stalls"}}).at("text").get<std::string>().empty());
    CHECK(c.client.ask({{"do", "stalls"}, {"at_least", "5s"}}).at("text").get<std::string>().empty());
    CHECK(c.client.ask({{"do", "dump"}}).at("text") ==
          json::parse(json(c.rt.dump()).dump(-1, ' ', false, json::error_handler_t::replace)));
    CHECK(c.client.ask({{"do", "dump"}, {"format", "json"}}).at("dump").at("queues").at(0).at("exported") == false);
}

TEST_CASE("control: a trace is written for its time, one at a time, also when its client has gone") {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    std::optional<cmwq::control_socket> socket{std::in_place, rt, cmwq::control_options{.folder = folder.path("")}};
    const auto trace = [&](const std::string& file, const char* time) {
        return control_client(socket->path()).ask({{"do", "trace"}, {"file", file}, {"time", time}});
    };
    const auto traces = [&] { return control_client(socket->path()).ask({{"do", "trace"}}).at("tracing").get<bool>(); };
    CHECK_THAT(error_of(trace("t.pftrace", "1s")), Catch::Contains("from the root"));
    CHECK_THAT(error_of(trace(path, "0")), Catch::Contains("more than 0"));
    CHECK_THAT(error_of(trace(path, "61min")), Catch::Contains("60min"));
    CHECK_THAT(error_of(trace(path, "long")), Catch::Contains("duration"));
    CHECK_THAT(error_of(trace(folder.path("nothing/t"), "1s")), Catch::Contains("No such file"));
    REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
    CHECK_THAT(error_of(trace(folder.path("pipe"), "1s")), Catch::Contains("No such device")); // nobody reads it
    CHECK_FALSE(traces());
    const auto status = [&] { return control_client(socket->path()).ask({{"do", "trace"}}); };
    CHECK(trace("/dev/full", "1ns").at("tracing") == true);
    CHECK(eventually([&] { return !traces(); }));
    CHECK(status() == R"({"tracing": false, "failed": "/dev/full: No space left on device"})"_json);
    CHECK(trace(path, "1ns").at("tracing") == true);
    CHECK(eventually([&] { return !traces(); }));
    CHECK(status() == R"({"tracing": false})"_json);
    CHECK(trace(path, "60min").at("tracing") == true);
    CHECK_THAT(error_of(trace(folder.path("second"), "1s")), Catch::Contains("is being written"));
    q.post([] {});
    q.flush();
    CHECK(traces());
    socket.reset(); // ends the trace
    CHECK(perfetto_trace::of_file(path).named("queued").size() == 1);
}

// proves: observe-8
TEST_CASE("control: nonsense gets an error, and the connection goes on") {
    controlled c;
    for (const char* const text : {"", "{", "[]", "1", "null", "{\"do\":1}", "{\"do\":\"\"}", "{}", "\xff\xfe",
                                   "{\"do\":[]}", "{\"do\":\"get\",\"queue\":{}}",
                                   "{\"do\":\"dump\",\"format\":\"xml\"}", "{\"do\":\"stalls\",\"at_least\":\"x\"}",
                                   "{\"do\":\"set\"}", "{\"do\":\"set\",\"attribute\":\"watchdog\"}"}) {
        INFO(text);
        REQUIRE(c.client.send(std::string(text) + '\n'));
        CHECK_FALSE(error_of(json::parse(c.client.line())).empty());
    }
    std::string deep(60'000, '[');
    deep += '\n';
    REQUIRE(c.client.send(deep));
    CHECK_FALSE(error_of(json::parse(c.client.line())).empty());
    CHECK(c.client.ask({{"do", "hello"}}).contains("protocol"));
}

TEST_CASE("control: requests that come together, or in pieces, are answered one by one") {
    controlled c;
    REQUIRE(c.client.send("{\"do\":\"hello\"}\n{\"do\":\"get\"}\n{\"do\""));
    CHECK(json::parse(c.client.line()).contains("protocol"));
    CHECK(json::parse(c.client.line()).contains("attributes"));
    REQUIRE(c.client.send(":\"hello\"}\n"));
    CHECK(json::parse(c.client.line()).contains("protocol"));
}

// proves: observe-8
TEST_CASE("control: a request without an end is refused, and the client dropped") {
    controlled c;
    static_cast<void>(c.client.send(std::string(1'000'000, 'x'))); // the end comes before that, perhaps
    CHECK_THAT(error_of(json::parse(c.client.line())), Catch::Contains("65536"));
    CHECK(c.client.line().empty());
    CHECK(control_client(c.socket.path()).ask({{"do", "hello"}}).contains("protocol"));
}

// proves: observe-8
TEST_CASE("control: clients beyond the sixteenth are told so, until another one has gone") {
    controlled c;
    std::list<control_client> others;
    for (int i = 0; i < 15; ++i) {
        others.emplace_back(c.socket.path());
        CHECK(others.back().ask({{"do", "hello"}}).contains("protocol"));
    }
    for (int i = 0; i < 3; ++i) {
        control_client refused{c.socket.path()};
        CHECK_THAT(error_of(json::parse(refused.line())), Catch::Contains("too many"));
        CHECK(refused.line().empty());
    }
    others.pop_back();
    CHECK(eventually([&] {
        control_client next{c.socket.path()};
        static_cast<void>(next.send("{\"do\":\"hello\"}\n"));
        return json::parse(next.line()).contains("protocol");
    }));
    CHECK(c.client.ask({{"do", "hello"}}).contains("protocol"));
}

// proves: observe-8
TEST_CASE("control: clients get a tenth of one CPU, whatever they send") {
    controlled c;
    const auto cpu_time = [] {
        clockid_t clock = CLOCK_REALTIME;
        for_each_thread([&](long id, const std::filesystem::path& /*folder*/, const std::string& name) {
            if (name == "cmwq/control") clock = static_cast<clockid_t>(~id * 8 + 6); // as pthread_getcpuclockid() does
        });
        timespec t{};
        REQUIRE(::clock_gettime(clock, &t) == 0);
        return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
    };
    CHECK(c.client.ask({{"do", "hello"}}).contains("protocol"));
    const auto began = std::chrono::steady_clock::now();
    const auto cpu_before = cpu_time();
    const auto time = [&] { return std::chrono::steady_clock::now() - began; };
    bool good = true;
    SECTION("a byte at a time of a long request") {
        const std::string nearly_all(60'000, 'x');
        while (time() < 400ms) {
            control_client other{c.socket.path()};
            good &= other.send(nearly_all);
            for (int i = 0; i < 5000 && time() < 400ms; ++i) good &= other.send("x");
        }
    }
    SECTION("empty lines") {
        while (time() < 400ms) {
            good &= c.client.send(std::string(100, '\n'));
            for (int i = 0; i < 100; ++i) good &= !c.client.line().empty();
        }
    }
    SECTION("nothing: it connects") {
        while (time() < 400ms) const control_client other{c.socket.path()};
    }
    CHECK(good);
    const auto cpu = cpu_time() - cpu_before;
    CHECK(cpu.count() <= (time() / 10 + 20ms).count()); // and the part that is not paid yet
}

// proves: observe-8
TEST_CASE("control: the socket is for its user alone, and processes of others are refused") {
    controlled c;
    struct stat is{};
    REQUIRE(::stat(c.socket.path().c_str(), &is) == 0);
    CHECK((is.st_mode & 0777) == 0600);
    if (::geteuid() != 0) return; // only root can become another user
    std::filesystem::permissions(c.folder.path(""), std::filesystem::perms::all);
    const auto as_nobody = [&](const std::function<int()>& f) {
        return in_child([&] { return ::setgid(65534) == 0 && ::setuid(65534) == 0 ? f() : 9; });
    };
    const outcome barred = as_nobody([&] {
        try {
            const control_client other{c.socket.path()};
            return 1;
        } catch (const std::runtime_error&) {
            return 0;
        }
    });
    CHECK(barred.exited_with(0));
    REQUIRE(::chmod(c.socket.path().c_str(), 0666) == 0);
    const outcome refused = as_nobody([&] {
        control_client other{c.socket.path()};
        const bool told = error_of(json::parse(other.line())).find("another user") != std::string::npos;
        return told && other.line().empty() ? 0 : 1;
    });
    CHECK(refused.exited_with(0));
}

TEST_CASE("control: the socket goes with its object, not with a forked child, and abandoned ones go before") {
    const temporary_folder folder;
    folder.write("notes", "not a socket");
    const outcome killed = in_child([&] {
        cmwq::runtime rt;
        const cmwq::control_socket socket{rt, {.folder = folder.path("")}};
        ::raise(SIGKILL);
        return 0;
    });
    CHECK(killed.killed_by(SIGKILL));
    const auto nr_files = [&] {
        return std::distance(std::filesystem::directory_iterator(folder.path("")),
                             std::filesystem::directory_iterator{});
    };
    CHECK(nr_files() == 2);
    {
        cmwq::runtime rt;
        std::optional<cmwq::control_socket> socket{std::in_place, rt, cmwq::control_options{.folder = folder.path("")}};
        CHECK(nr_files() == 2);
        const outcome child = in_child([&] {
            socket.reset();
            return 0;
        });
        CHECK(child.exited_with(0));
        CHECK(control_client(socket->path()).ask({{"do", "hello"}}).at("pid") == ::getpid());
        CHECK(control_client(socket->path()).ask({{"do", "hello"}}).at("pid") == ::getpid());
    }
    CHECK(nr_files() == 1);
}

TEST_CASE("control: objects of one runtime and folder share a socket, and the last one ends it") {
    const temporary_folder folder, other;
    const auto answers = [](const std::string& path) {
        return control_client(path).ask({{"do", "hello"}}).at("pid") == ::getpid();
    };
    cmwq::runtime rt, second;
    using socket = std::optional<cmwq::control_socket>;
    const cmwq::control_options here{.folder = folder.path("")};
    SECTION("any one ends first") {
        for (const bool first_goes_first : {true, false}) {
            socket one{std::in_place, rt, here}, two{std::in_place, rt, here};
            const std::string path = one->path();
            CHECK(two->path() == path);
            (first_goes_first ? one : two).reset();
            CHECK(answers(path));
            (first_goes_first ? two : one).reset();
            CHECK_FALSE(std::filesystem::exists(path));
        }
    }
    SECTION("a folder has any path") {
        const std::string again = folder.path("again");
        std::filesystem::create_directory_symlink(folder.path(""), again);
        socket one{std::in_place, rt, here}, two{std::in_place, rt, cmwq::control_options{.folder = again}};
        one.reset();
        CHECK(answers(two->path()));
    }
    SECTION("other runtimes, and other folders, have their own") {
        const socket one{std::in_place, rt, here}, two{std::in_place, second, here},
            three{std::in_place, rt, cmwq::control_options{.folder = other.path("")}};
        CHECK(one->path() != two->path());
        for (const socket* s : {&one, &two, &three}) CHECK(answers((*s)->path()));
        CHECK(threads_named("cmwq/control").size() == 3);
    }
    SECTION("with the option, and a forked child has its own") {
        const outcome o = in_child([&] {
            findings f;
            ::setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
            cmwq::runtime mine{{.control = true}};
            socket mine_too{std::in_place, mine};
            f.expect(1, answers(mine_too->path()), "no answer");
            f.expect(2, threads_named("cmwq/control").size() == 1, "two threads");
            mine_too.reset();
            mine_too.emplace(mine);
            f.expect(4, answers(mine_too->path()), "no answer of the option's");
            const int child = status_of_child([&] {
                cmwq::runtime its;
                const cmwq::control_socket of_child{its};
                mine_too.reset();
                return answers(of_child.path()) ? 0 : 1;
            });
            f.expect(8, child == 0, "a child");
            f.expect(16, answers(mine_too->path()), "no answer after a fork()");
            return f.wrong();
        });
        INFO(o.stderr_text);
        CHECK(o.exited_with(0));
    }
}

TEST_CASE("control: a forked child does not keep the sockets of its parent") {
    namespace os = cmwq::detail::os;
    const temporary_folder folder;
    cmwq::runtime rt;
    std::optional<cmwq::control_socket> socket{std::in_place, rt, cmwq::control_options{.folder = folder.path("")}};
    os::descriptor client;
    REQUIRE(os::connect_to(socket->path(), client) == 0);
    std::string_view request = "{\"do\":\"hello\"}\n";
    REQUIRE(os::send_some(client, request) == 0);
    std::string answer;
    REQUIRE(eventually([&] { return os::receive(client, answer) == 0; }));
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const pid_t child = fork_a_child();
    if (child == 0) {
        ::close(ends[0]);
        char end = 'x';
        if (::write(ends[1], &end, 1) != 1) ::_exit(9);
        ::_exit(static_cast<int>(uninterrupted([&] { return ::read(ends[1], &end, 1); })));
    }
    ::close(ends[1]);
    char begun = 0;
    REQUIRE(uninterrupted([&] { return ::read(ends[0], &begun, 1); }) == 1); // the child has come out of fork()
    const std::string left = folder.path("left"); // as if the parent had been killed, the file stays
    std::filesystem::rename(socket->path(), left);
    socket.reset();
    CHECK(os::is_abandoned(left));
    CHECK(os::receive(client, answer) == EPIPE);
    ::close(ends[0]);
    int status = -1;
    REQUIRE(uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child);
    CHECK(status == 0);
}

TEST_CASE("control: a folder that does not exist, or to which others may write, is refused") {
    const temporary_folder folder;
    cmwq::runtime rt;
    CHECK_THROWS_AS(cmwq::control_socket(rt, {.folder = folder.path("nothing")}), std::system_error);
    folder.write("file", "");
    CHECK_THROWS_AS(cmwq::control_socket(rt, {.folder = folder.path("file")}), std::system_error);
    const std::string open = folder.path("open");
    std::filesystem::create_directories(open);
    for (const unsigned mode : {0775u, 0757u, 01777u}) {
        REQUIRE(::chmod(open.c_str(), mode) == 0);
        CHECK_THROWS_WITH(cmwq::control_socket(rt, {.folder = open}), Catch::Contains("others may write"));
    }
    REQUIRE(::chmod(open.c_str(), 0755) == 0);
    CHECK_NOTHROW(cmwq::control_socket(rt, {.folder = open}));
}

TEST_CASE("control: the user's folder is refused if others may enter it, and one without a parent is not made") {
    const temporary_folder folder;
    const auto with = [&](const std::string& runtime_dir) {
        return in_child([&] {
            ::setenv("XDG_RUNTIME_DIR", runtime_dir.c_str(), 1);
            cmwq::runtime mine{{.control = true}};
            cmwq::workqueue<> q{mine};
            q.post([] {});
            q.flush();
            return 0;
        });
    };
    std::filesystem::create_directories(folder.path("cmwq"));
    REQUIRE(::chmod(folder.path("cmwq").c_str(), 0755) == 0);
    const outcome entered = with(folder.path(""));
    CHECK(entered.exited_with(0));
    CHECK_THAT(entered.stderr_text, Catch::StartsWith("cmwq::control_socket: ") && Catch::Contains("others may enter"));
    const outcome absent = with(folder.path("nothing"));
    CHECK(absent.exited_with(0));
    CHECK(absent.stderr_text.find("nothing") == std::string::npos);
}

TEST_CASE("control: the option makes the socket in the user's folder, and without it there is no thread") {
    const temporary_folder folder;
    const outcome o = in_child([&] {
        findings f;
        ::setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
        cmwq::runtime without;
        f.expect(1, threads_named("cmwq/control").empty(), "a thread");
        cmwq::runtime rt{{.control = true}};
        for (const auto& e : std::filesystem::directory_iterator(folder.path("cmwq")))
            f.expect(2, control_client(e.path()).ask({{"do", "hello"}}).at("pid") == ::getpid(), "no answer");
        f.expect(4, threads_named("cmwq/control").size() == 1, "no thread");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("control: it answers while the thread that holds a lock of the library is stopped") {
    controlled c;
    cmwq::workqueue<cmwq::unbound> q{c.rt, {.name = "q", .exported = true}}, of_same_name{c.rt, "q"};
    cmwq::workqueue<> other{c.rt, "other"};
    q.post([] {});
    q.flush();
    const auto answers = [&](const char* text_of_dump) {
        CHECK(c.client.ask({{"do", "dump"}}).at("text").get<std::string>().find(text_of_dump) != std::string::npos);
        return c.client.ask({{"do", "queues"}});
    };
    SECTION("of a pool: only its queues are missing, and named") {
        const held_elsewhere held{[&](auto f) {
            const cmwq::detail::scoped_lock g(shared_pools_of(c.rt).at(0).ledger.lock);
            f();
        }};
        const json answer = answers("locked by another thread");
        REQUIRE(answer.at("queues").size() == 1);
        CHECK(answer.at("queues")[0].at("name") == "other");
        CHECK(answer.at("locked") == R"(["q"])"_json);
    }
    SECTION("of the settings") {
        const held_elsewhere held{[&](auto f) {
            const cmwq::detail::scoped_lock g(core_of(c.rt).placing().lock());
            f();
        }};
        const json answer = answers("locked by another thread");
        CHECK(answer.at("queues").size() == 2);
        CHECK(answer.at("locked") == json::array());
    }
    SECTION("of the list of queues") {
        const held_elsewhere held{[&](auto f) { core_of(c.rt).queues().with_all_kept(f); }};
        const json answer = answers("locked by another thread");
        CHECK(answer.at("queues").empty());
        CHECK(answer.at("locked").is_null());
    }
}
