// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/topo/hwloc_source.hpp>

#include <cmwq/detail/topo/hwloc_source.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <cmwq/detail/os/cpu.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <system_error>

using Catch::Matchers::Contains;
using cmwq::affinity_scope;
using cmwq::cpuset;
using cmwq::topology;

namespace {

std::string file(const std::string& name) { return std::string(CMWQ_TEST_TOPOLOGIES) + '/' + name; }

std::string listing(const std::string& name) {
    std::ifstream in(file(name + ".txt"));
    REQUIRE(in);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

// Another program made the listings, from lists of the CPUs, cores, caches and nodes of each machine.

TEST_CASE("hwloc_source: the four CPUs in the document of the kernel have the listing in that document") {
    const affinity_scope of_the_document[] = {affinity_scope::cpu, affinity_scope::smt, affinity_scope::cache,
                                              affinity_scope::numa, affinity_scope::system};
    CHECK(describe(topology::synthetic("numa:2 l3:1 core:2 pu:1"), affinity_scope::cache, of_the_document) ==
          listing("kernel_document"));
}

TEST_CASE("hwloc_source: 24 cores are in two packages of four caches") {
    CHECK(describe(topology::synthetic("pack:2 numa:1 l3:4 core:3 pu:1")) == listing("two_packages"));
}

TEST_CASE("hwloc_source: 12 cores with 24 threads behind four caches are numbered as on Linux") {
    CHECK(describe(topology::synthetic("pack:1 l3:4 core:3 pu:2(indexes=2*12:1*2)")) == listing("four_caches"));
}

TEST_CASE("hwloc_source: 72 cores behind one cache are nine shards") {
    CHECK(describe(topology::synthetic("pack:1 l3:1 core:72 pu:1")) == listing("big_cache"));
}

TEST_CASE("hwloc_source: one CPU is a machine") { CHECK(describe(topology::synthetic("pu:1")) == listing("single")); }

TEST_CASE("hwloc_source: P cores and E cores and low-power cores without an L3 are one machine") {
    const topology t = topology::from_xml(file("hybrid.xml"));
    CHECK(t.simulated());
    CHECK(describe(t) == listing("hybrid"));
    // This set of CPUs contains only a part of the L3, and of some cores and clusters.
    CHECK(describe(t.restricted({0, 2, 3, 5, 13, 14, 15, 16, 17, 20})) == listing("hybrid_cut"));
}

TEST_CASE("hwloc_source: offline CPUs and missing numbers and nodes without CPUs are accepted") {
    const topology t = topology::from_xml(file("holes.xml"));
    CHECK(describe(t) == listing("holes"));
    CHECK(t.nr_nodes() == 2);
    CHECK(t.has_node(2));
    CHECK_FALSE(t.has_node(3));                     // there is no such number
    CHECK_FALSE(t.has_node(1));                     // near all CPUs, so no CPU belongs to it
    CHECK_FALSE(t.has_node(5));                     // far from every CPU
    CHECK_FALSE(t.has_node(7));                     // near the CPUs of node 2
    CHECK(t.node_of(5) == cmwq::topology::no_node); // offline
}

TEST_CASE("hwloc_source: without an L2 or L3 the part of a package in a node is one cache") {
    CHECK(topology::synthetic("pack:2 core:4 pu:1").pods(affinity_scope::cache).size() == 2);
    CHECK(topology::synthetic("pack:2 l1:4 core:1 pu:1").pods(affinity_scope::cache).size() == 2);
    CHECK(topology::synthetic("pack:2 numa:2 core:4 pu:1").pods(affinity_scope::cache).size() == 4);
    CHECK(topology::synthetic("numa:1 pack:2 core:4 pu:1").pods(affinity_scope::cache).size() == 2);
    CHECK(topology::synthetic("8").pods(affinity_scope::cache).size() == 1);
    CHECK(topology::synthetic("8").pods(affinity_scope::smt).size() == 8); // nor cores: each CPU is a core
}

TEST_CASE("hwloc_source: the highest cache level that exists is the last level") {
    CHECK(topology::synthetic("l2:4 l1:2 core:1 pu:1").pods(affinity_scope::cache).size() == 4);
    CHECK(topology::synthetic("l4:2 l3:2 l2:2 core:1 pu:1").pods(affinity_scope::cache).size() == 2);
}

TEST_CASE("hwloc_source: a CPU near several nodes belongs to the node with the fewest CPUs or else to the lowest") {
    const topology equal = topology::synthetic("pack:2 [numa(indexes=3)] [numa] core:2 pu:1");
    CHECK(equal.nr_nodes() == 2);
    const topology nested = topology::synthetic("pack:2 [numa] l3:2 [numa] core:2 pu:1");
    CHECK(nested.nr_nodes() == 4);
    for (const auto& pod : nested.pods(affinity_scope::numa)) CHECK(pod.cpus.size() == 2);
}

TEST_CASE("hwloc_source: synthetic() refuses a text that describes no machine and quotes it") {
    for (const char* text : {"", " ", "nonsense", "pack:2 core", "core:4", "pu:0", "pu:-1", "pack:2 pu:", "l3:2"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(topology::synthetic(text), std::invalid_argument);
        CHECK_THROWS_WITH(topology::synthetic(text), Contains('\'' + std::string(text) + '\''));
    }
    CHECK_THROWS_AS(topology::synthetic(std::string("pu:2\0pu:2", 9)), std::invalid_argument);
    CHECK_THROWS_WITH(topology::synthetic("pu:2(indexes=1,70000)"), Contains("'pu:2(indexes=1,70000)'"));
}

TEST_CASE("hwloc_source: synthetic() refuses a machine that exceeds the capacity of a cpuset before it builds it") {
    for (const char* text : {"pack:70000 core:1 pu:1", "pack:0xffff pu:0xffff", "core:300 pu:300", "65537", "pu:65537",
                             "core:99999999999999999999999 pu:2"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(topology::synthetic(text), Contains("65536"));
    }
    using cmwq::detail::nr_synthetic_cpus;
    CHECK(nr_synthetic_cpus("pack:2 numa:1 l3:2 core:4 pu:2") == 32);
    CHECK(nr_synthetic_cpus("pack:2 [numa(memory=9999999999)] l3:2(size=99999999) core:4 pu:2(indexes=2*9999999)") ==
          32);
    CHECK(nr_synthetic_cpus("0x10") == 16);
    CHECK(nr_synthetic_cpus("256 pu:256") == 65'536);
}

TEST_CASE("hwloc_source: from_xml() refuses a file without a recorded machine and names the file") {
    const cmwq_test::temporary_folder folder;
    try {
        static_cast<void>(topology::from_xml(folder.path("missing.xml")));
        FAIL("no exception");
    } catch (const std::system_error& e) {
        CHECK(e.code() == std::errc::no_such_file_or_directory);
        CHECK_THAT(e.what(), Contains("missing.xml"));
    }
    CHECK_THROWS_AS(topology::from_xml(folder.path("")), std::system_error);
    folder.write("empty.xml", "");
    folder.write("text.xml", "no XML at all\n");
    folder.write("other.xml", "<?xml version=\"1.0\"?>\n<svg></svg>\n");
    std::ifstream whole(file("hybrid.xml"));
    const std::string xml(std::istreambuf_iterator<char>(whole), {});
    folder.write("cut.xml", xml.substr(0, xml.size() / 2));
    for (const char* name : {"empty.xml", "text.xml", "other.xml", "cut.xml"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(topology::from_xml(folder.path(name)), std::invalid_argument);
        CHECK_THROWS_WITH(topology::from_xml(folder.path(name)), Contains(name));
    }
    folder.write("whole.xml", xml.substr(0, xml.find_last_of('>') + 1)); // no newline at the end
    CHECK(topology::from_xml(folder.path("whole.xml")).cpus() == cpuset::range(0, 22));
}

TEST_CASE("hwloc_source: system() has the CPUs that the calling thread may use") {
    const topology all = topology::system();
    CHECK(all.cpus() == cmwq::detail::os::allowed_cpus());
    CHECK_FALSE(all.simulated());
    CHECK(all.nr_nodes() >= 1);

    cpu_set_t before, one;
    REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
    const unsigned last = [&] {
        unsigned c = 0;
        for (const unsigned x : all.cpus()) c = x;
        return c;
    }();
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    const topology narrow = topology::system();
    CHECK(cmwq::detail::os::allowed_cpus() == cpuset{last}); // system() has not changed it
    ::sched_setaffinity(0, sizeof before, &before);
    CHECK(narrow.cpus() == cpuset{last});
    CHECK(narrow.node_of(last) == all.node_of(last));
}

TEST_CASE("hwloc_source: system() has the given CPUs and a CPU that is not online has a core and a cache of its own") {
    const topology all = topology::system();
    const unsigned first = all.cpus().next(0);
    const topology one = topology::system({first});
    CHECK(one.cpus() == cpuset{first});
    CHECK(one.node_of(first) == all.node_of(first));

    const topology more = topology::system(all.cpus() | cpuset{60'000, 60'001});
    CHECK(more.cpus() == (all.cpus() | cpuset{60'000, 60'001}));
    for (const affinity_scope s : {affinity_scope::smt, affinity_scope::cache, affinity_scope::cache_shard}) {
        CHECK(more.pods(s).size() == all.pods(s).size() + 2);
        for (const unsigned c : all.cpus())
            CHECK(more.pods(s)[more.pod_of(s, c)].cpus == all.pods(s)[all.pod_of(s, c)].cpus);
    }
    CHECK(more.nr_nodes() == all.nr_nodes());
    CHECK(topology::system({60'000, 60'001}).pods(affinity_scope::cache).size() == 1); // only unknown CPUs: flat
    CHECK_THROWS_AS(topology::system(cpuset{}), std::invalid_argument);
}

TEST_CASE("hwloc_source: system() ignores another machine in the environment variables of hwloc") {
    REQUIRE(::setenv("HWLOC_SYNTHETIC", "l3:512 core:1 pu:1", 1) == 0);
    const topology t = topology::system();
    ::unsetenv("HWLOC_SYNTHETIC");
    CHECK(t.cpus() == cmwq::detail::os::allowed_cpus());
    CHECK_FALSE(t.simulated());
    CHECK(t.pods(affinity_scope::cache).size() == 1); // with several CPUs it would not be flat
}
