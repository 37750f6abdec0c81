// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/runtime/settings.hpp>

#include <cmwq/detail/engine/runtime/settings.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <chrono>
#include <cstdint>

#include <iterator>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;
using cmwq::affinity_scope;
using cmwq::cpuset;
using cmwq::runtime_options;

namespace {

runtime_options read(std::string_view text, runtime_options base = {}) {
    return cmwq::detail::settings("SOURCE", text).over(std::move(base));
}

/// Compares the options that a text can set.
bool same(const runtime_options& a, const runtime_options& b) {
    return a.cpus == b.cpus && a.unbound_cpus == b.unbound_cpus && a.default_scope == b.default_scope &&
           a.cache_shard_size == b.cache_shard_size && a.power_efficient == b.power_efficient &&
           a.max_threads == b.max_threads && a.idle_timeout == b.idle_timeout &&
           a.may_block_threshold == b.may_block_threshold && a.cpu_hog_threshold == b.cpu_hog_threshold &&
           a.overdue_after == b.overdue_after && a.idle_poll == b.idle_poll &&
           a.cpu_hog_warning_threshold == b.cpu_hog_warning_threshold && a.watchdog == b.watchdog &&
           a.abort_on_stall_after == b.abort_on_stall_after && a.sentinel == b.sentinel && a.name == b.name &&
           a.metrics == b.metrics && a.metrics_interval == b.metrics_interval && a.schedtrace == b.schedtrace &&
           a.trace == b.trace && a.flight_recorder == b.flight_recorder;
}

} // namespace

TEST_CASE("settings: each option has the value of its text and the other options stay unchanged") {
    struct row {
        const char* text;
        runtime_options means;
    };
    const row rows[] = {
        {"", {}},
        {" \t\n", {}},
        {"cpus=0-3+5", {.cpus = {0, 1, 2, 3, 5}}},
        {"cpus=7", {.cpus = {7}}},
        {"unbound_cpus=1+3+65535", {.unbound_cpus = {1, 3, 65535}}},
        {"default_scope=cpu", {.default_scope = affinity_scope::cpu}},
        {"default_scope=smt", {.default_scope = affinity_scope::smt}},
        {"default_scope=cache", {.default_scope = affinity_scope::cache}},
        {"default_scope=cache_shard", {.default_scope = affinity_scope::cache_shard}},
        {"default_scope=numa", {.default_scope = affinity_scope::numa}},
        {"default_scope=system", {.default_scope = affinity_scope::system}},
        {"cache_shard_size=3", {.cache_shard_size = 3}},
        {"power_efficient=1", {.power_efficient = true}},
        {"power_efficient=true", {.power_efficient = true}},
        {"power_efficient=1,power_efficient=0", {.power_efficient = false}},
        {"max_threads=4294967295", {.max_threads = std::numeric_limits<unsigned>::max()}},
        {"idle_timeout=2min", {.idle_timeout = 2min}},
        {"idle_poll=5us", {.idle_poll = 5us}},
        {"may_block_threshold=50us", {.may_block_threshold = 50us}},
        {"cpu_hog_threshold=7ms", {.cpu_hog_threshold = 7ms}},
        {"overdue_after=8ms", {.overdue_after = 8ms}},
        {"cpu_hog_warning_threshold=0", {.cpu_hog_warning_threshold = 0}},
        {"watchdog=10s", {.watchdog = 10s}},
        {"watchdog=0", {.watchdog = 0s}},
        {"watchdog=0ns", {.watchdog = 0s}},
        {"watchdog=9223372036854775807ns", {.watchdog = std::chrono::nanoseconds::max()}},
        {"abort_on_stall_after=1min", {.abort_on_stall_after = 1min}},
        {"sentinel=0", {.sentinel = false}},
        {"sentinel=false", {.sentinel = false}},
        {"name=my server", {.name = "my server"}},
        {"metrics=/var/lib/a=b.prom", {.metrics = "/var/lib/a=b.prom"}},
        {"metrics_interval=15s", {.metrics_interval = 15s}},
        {"trace=a.%p.pftrace", {.trace = "a.%p.pftrace"}},
        {"flight_recorder=b c", {.flight_recorder = "b c"}},
        {"schedtrace=1000", {.schedtrace = 1s}},
        {"schedtrace=5s", {.schedtrace = 5s}},
        {"schedtrace=0", {}},
        {" watchdog = 1s ,\tsentinel=0,watchdog=3s ", {.watchdog = 3s, .sentinel = false}},
    };
    for (const row& r : rows) {
        INFO(r.text);
        CHECK(same(read(r.text), r.means));
    }
    const runtime_options base{.cpus = {1}, .max_threads = 5, .watchdog = 7s};
    runtime_options expected = base;
    expected.watchdog = 1ms;
    CHECK(same(read("watchdog=1ms", base), expected));
    CHECK(same(read("", base), base));
}

TEST_CASE("settings: an invalid text is refused and the message has the source and the word and the allowed values") {
    struct row {
        const char *text, *word, *allowed;
    };
    const row rows[] = {
        {"watchdog", "'watchdog'", "option=value"},
        {",", "''", "option=value"},
        {"watchdog=1s,", "''", "option=value"},
        {"watchdog=1s,,sentinel=0", "''", "option=value"},
        {"=1s", "'=1s'", "there are cpus, unbound_cpus, "},
        {"wachdog=1s", "'wachdog=1s'", ", watchdog, abort_on_stall_after, sentinel, name, metrics, "},
        {"Watchdog=1s", "'Watchdog=1s'", "there are cpus"},
        {"machine=1", "'machine=1'", "there are cpus"},
        {"watchdog=", "'watchdog='", "ns, us, ms, s or min"},
        {"watchdog=10", "'watchdog=10'", "ns, us, ms, s or min"},
        {"watchdog=-1s", "'watchdog=-1s'", "ns, us, ms, s or min"},
        {"watchdog=+1s", "'watchdog=+1s'", "ns, us, ms, s or min"},
        {"watchdog=1.5s", "'watchdog=1.5s'", "ns, us, ms, s or min"},
        {"watchdog=1h", "'watchdog=1h'", "ns, us, ms, s or min"},
        {"watchdog=1 s", "'watchdog=1 s'", "ns, us, ms, s or min"},
        {"watchdog=s", "'watchdog=s'", "ns, us, ms, s or min"},
        {"watchdog=9223372036854775808ns", "'watchdog=9223372036854775808ns'", "no more than 292 years"},
        {"watchdog=9223372037s", "'watchdog=9223372037s'", "no more than 292 years"},
        {"max_threads=4294967296", "'max_threads=4294967296'", "up to 4294967295"},
        {"max_threads=-1", "'max_threads=-1'", "whole number"},
        {"max_threads=1x", "'max_threads=1x'", "whole number"},
        {"max_threads=0x10", "'max_threads=0x10'", "whole number"},
        {"sentinel=2", "'sentinel=2'", "0, 1, false or true"},
        {"sentinel=", "'sentinel='", "0, 1, false or true"},
        {"sentinel=yes", "'sentinel=yes'", "0, 1, false or true"},
        {"default_scope=core", "'default_scope=core'", "cpu smt cache cache_shard numa system"},
        {"default_scope=default", "'default_scope=default'", "cpu smt cache cache_shard numa system"},
        {"default_scope=7", "'default_scope=7'", "cpu smt cache cache_shard numa system"},
        {"cpus=", "'cpus='", "0-3+8"},
        {"cpus=0,2", "'2'", "parts of a list of CPUs have + between them"},
        {"cpus=3-1", "'cpus=3-1'", "0-3+8"},
        {"cpus=1+", "'cpus=1+'", "0-3+8"},
        {"cpus=1 +2", "'cpus=1 +2'", "0-3+8"},
        {"cpus=65536", "'cpus=65536'", "below 65536"},
        {"metrics=", "'metrics='", "wants a text"},
        {"trace=", "'trace='", "wants a text"},
        {"metrics_interval=10", "'metrics_interval=10'", "ns, us, ms, s or min"},
        {"schedtrace=", "'schedtrace='", "milliseconds"},
        {"schedtrace=1h", "'schedtrace=1h'", "milliseconds"},
        {"schedtrace=9223372036855", "'schedtrace=9223372036855'", "no more than 292 years"},
        {"sentinel=0,cpus=a", "'cpus=a'", "0-3+8"},
    };
    for (const row& r : rows) {
        INFO(r.text);
        CHECK_THROWS_AS(read(r.text), std::invalid_argument);
        CHECK_THROWS_WITH(read(r.text),
                          Catch::Contains("SOURCE") && Catch::Contains(r.word) && Catch::Contains(r.allowed));
    }
}

TEST_CASE("settings: any text is read or refused") {
    std::mt19937_64 random(cmwq_test::seed());
    const std::string_view parts[] = {
        "cpus", "unbound_cpus", "default_scope", "watchdog", "sentinel", "max_threads", "=",    ",", "+",   "-", "0",
        "1",    "65535",        "99999999999",   "10s",      "ms",       "min",         "numa", " ", "true"};
    int good = 0, bad = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (std::uint64_t n = random() % 12; n > 0; --n) {
            if (random() % 8 == 0) text += static_cast<char>(random());
            else text += parts[random() % std::size(parts)];
        }
        try {
            static_cast<void>(read(text));
            ++good;
        } catch (const std::invalid_argument&) {
            ++bad;
        }
    }
    CHECK(good > 0);
    CHECK(bad > 0);
}
