// SPDX-License-Identifier: BSL-1.0
//
// Checks that the guest that scripts/test-vm boots is the machine that the other suites of this folder expect. This
// test only uses files of the kernel, so its result does not depend on the library.
#include "catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path cpus = "/sys/devices/system/cpu";
const fs::path nodes = "/sys/devices/system/node";

/// The first line of a file; empty when there is none.
std::string line_of(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// Whether the kernel accepted it.
bool write_to(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    return out.good();
}

fs::path cpu(unsigned n) { return cpus / ("cpu" + std::to_string(n)); }

/// The contents of a file of every online CPU, each content once.
std::set<std::string> answers(const fs::path& file) {
    std::set<std::string> found;
    for (unsigned n = 0; n < 16; ++n)
        if (fs::exists(cpu(n) / file)) found.insert(line_of(cpu(n) / file));
    return found;
}

} // namespace

TEST_CASE("guest: the tests run in the guest") {
    const char* vm = std::getenv("CMWQ_VM");
    REQUIRE(vm != nullptr);
    CHECK(std::string(vm) == "1");
}

TEST_CASE("guest: the guest has 16 CPUs and two nodes and four last-level caches and two threads per core") {
    CHECK(line_of(cpus / "online") == "0-15");
    CHECK(line_of(cpus / "possible") == "0-15");
    CHECK(line_of(nodes / "online") == "0-1");
    CHECK(line_of(nodes / "node0/cpulist") == "0-7");
    CHECK(line_of(nodes / "node1/cpulist") == "8-15");
    CHECK(line_of(nodes / "node0/distance") == "10 20");

    CHECK(answers("cache/index3/level") == std::set<std::string>{"3"});
    CHECK(answers("cache/index3/shared_cpu_list") == std::set<std::string>{"0-3", "4-7", "8-11", "12-15"});
    CHECK(answers("topology/thread_siblings_list") ==
          std::set<std::string>{"0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"});
}

TEST_CASE("guest: programs read the clock without a trap") {
    CHECK(line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource") == "tsc");
}

TEST_CASE("guest: a CPU goes offline and comes back") {
    // The first CPU that can go offline, a CPU in the middle of a cache, and the last CPU.
    for (const unsigned n : {1U, 6U, 15U}) {
        CAPTURE(n);
        REQUIRE(write_to(cpu(n) / "online", "0"));
        CHECK(line_of(cpu(n) / "online") == "0");
        CHECK(line_of(cpus / "online") != "0-15");
        CHECK_FALSE(fs::exists(cpu(n) / "cache/index3"));
        REQUIRE(write_to(cpu(n) / "online", "1"));
        CHECK(line_of(cpus / "online") == "0-15");
    }
    CHECK(answers("cache/index3/shared_cpu_list").size() == 4);
    CHECK(line_of(nodes / "node1/cpulist") == "8-15");
}

TEST_CASE("guest: a whole node goes offline and comes back") {
    for (unsigned n = 8; n < 16; ++n) REQUIRE(write_to(cpu(n) / "online", "0"));
    CHECK(line_of(cpus / "online") == "0-7");
    CHECK(line_of(nodes / "node1/cpulist").empty());
    for (unsigned n = 8; n < 16; ++n) REQUIRE(write_to(cpu(n) / "online", "1"));
    CHECK(line_of(nodes / "node1/cpulist") == "8-15");
}

TEST_CASE("guest: a cgroup has a set of CPUs and a quota") {
    const fs::path group = "/sys/fs/cgroup/guest";
    REQUIRE(fs::create_directory(group));
    CHECK(write_to(group / "cpuset.cpus", "4-7"));
    CHECK(line_of(group / "cpuset.cpus.effective") == "4-7");
    CHECK(write_to(group / "cpu.max", "200000 100000"));
    CHECK(line_of(group / "cpu.max") == "200000 100000");
    CHECK(fs::remove(group));
}
