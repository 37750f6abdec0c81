// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/cgroup.hpp>

#include <cmwq/detail/os/cgroup.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <string>

using cmwq::detail::os::cpu_quota;
using cmwq::detail::os::unlimited_cpus;
using cmwq_test::temporary_folder;

namespace {

/// A tree of groups, and a process in it.
struct groups {
    explicit groups(const std::string& membership) { folder.write("proc_self_cgroup", membership); }
    groups& file(const std::string& path, const std::string& text) {
        folder.write("sys/" + path, text);
        return *this;
    }
    double quota() const { return cpu_quota(folder.path("proc_self_cgroup").c_str(), folder.path("sys").c_str()); }

    temporary_folder folder;
};

} // namespace

TEST_CASE("cgroup: without files there is no limit") {
    CHECK(cpu_quota("/nonexistent", "/nonexistent") == unlimited_cpus);
    CHECK(groups("").quota() == unlimited_cpus);
    CHECK(groups("no colons here\n0:\n\n:::\n").quota() == unlimited_cpus);
    CHECK(groups("0::/a/b\n").quota() == unlimited_cpus);
    CHECK(cpu_quota() > 0); // reads the groups of this process, whose limit is not known here
}

TEST_CASE("cgroup v2: the limit of the group itself counts") {
    CHECK(groups("0::/a\n").file("a/cpu.max", "150000 100000\n").quota() == 1.5);
    CHECK(groups("0::/a\n").file("a/cpu.max", "2000 1000\n").quota() == 2);
    CHECK(groups("0::/a\n").file("a/cpu.max", "max 100000\n").quota() == unlimited_cpus);
    CHECK(groups("0::/a\n").file("a/cpu.max", "").quota() == unlimited_cpus);
    CHECK(groups("0::/a\n").file("a/cpu.max", "100000").quota() == unlimited_cpus);
    CHECK(groups("0::/a\n").file("a/cpu.max", "100000 0\n").quota() == unlimited_cpus);
    CHECK(groups("0::/a").file("a/cpu.max", "50000 100000").quota() == 0.5); // no newline in either file
}

TEST_CASE("cgroup v2: the smallest limit of the group and its parents counts") {
    groups g("0::/user.slice/service/job\n");
    g.file("user.slice/service/job/cpu.max", "max 100000\n").file("user.slice/service/cpu.max", "300000 100000\n");
    CHECK(g.quota() == 3);
    g.file("user.slice/cpu.max", "200000 100000\n");
    CHECK(g.quota() == 2);
    g.file("cpu.max", "100000 100000\n"); // at the mount, where a container sees its own group
    CHECK(g.quota() == 1);
    g.file("user.slice/service/job/cpu.max", "10000 100000\n");
    CHECK(g.quota() == 0.1);
    g.file("elsewhere/cpu.max", "1000 100000\n");
    CHECK(g.quota() == 0.1);
}

TEST_CASE("cgroup v2: groups that are not visible are skipped") {
    // The host's path in a container that has only its own group mounted.
    CHECK(groups("0::/docker/0123\n").file("cpu.max", "400000 100000\n").quota() == 4);
    // Outside of the namespace: the code reads nothing above the mount.
    groups g("0::/../job\n");
    g.folder.write("job/cpu.max", "100000 100000\n");
    CHECK(g.quota() == unlimited_cpus);
    CHECK(g.file("cpu.max", "500000 100000\n").quota() == 5);
}

TEST_CASE("cgroup v1: the quota and the period come from two files") {
    groups g("5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/s\n");
    CHECK(g.quota() == unlimited_cpus);
    g.file("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n").file("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    CHECK(g.quota() == unlimited_cpus);
    g.file("cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n").file("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    CHECK(g.quota() == 2.5);
    g.file("cpu/cpu.cfs_quota_us", "50000\n"); // a quota without a period
    CHECK(g.quota() == 2.5);
    g.file("cpu/cpu.cfs_period_us", "50000\n"); // the mount under its other name
    CHECK(g.quota() == 1);
    // Groups of other controllers do not count.
    groups other("5:memory:/m\n3:cpuset:/m\n2:cpuacct:/m\n");
    other.file("memory/m/cpu.cfs_quota_us", "1000\n").file("memory/m/cpu.cfs_period_us", "100000\n");
    other.file("cpu/m/cpu.cfs_quota_us", "1000\n").file("cpu/m/cpu.cfs_period_us", "100000\n");
    CHECK(other.quota() == unlimited_cpus);
}

TEST_CASE("cgroup: both versions may be mounted at once") {
    groups g("2:cpu:/one\n0::/two\n");
    g.file("cpu/one/cpu.cfs_quota_us", "300000\n").file("cpu/one/cpu.cfs_period_us", "100000\n");
    CHECK(g.quota() == 3);
    g.file("unified/two/cpu.max", "200000 100000\n");
    CHECK(g.quota() == 2);
}
