// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/cpu_list.hpp>

#include <cmwq/detail/os/cpu_list.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <sched.h>

using cmwq::cpuset;
using cmwq::detail::os::isolated_cpus;
using cmwq::detail::os::online_cpus;

TEST_CASE("cpu_list: online_cpus() and isolated_cpus() return the CPUs in their files") {
    const cmwq_test::temporary_folder folder;
    folder.write("online", "0-3,8\n");
    folder.write("isolated", "2-3\n");
    CHECK(online_cpus(folder.path("")) == cpuset{0, 1, 2, 3, 8});
    CHECK(isolated_cpus(folder.path("")) == cpuset{2, 3});
}

TEST_CASE("cpu_list: a missing or empty or invalid file gives the empty set") {
    const cmwq_test::temporary_folder folder;
    CHECK(online_cpus(folder.path("")).empty());
    CHECK(isolated_cpus(folder.path("nowhere")).empty());
    folder.write("online", "");
    folder.write("isolated", "\n");
    CHECK(online_cpus(folder.path("")).empty());
    CHECK(isolated_cpus(folder.path("")).empty());
    folder.write("isolated", "  (null)\n"); // as some kernels print an empty set
    CHECK(isolated_cpus(folder.path("")).empty());
}

TEST_CASE("cpu_list: the CPU of this thread is online") {
    const cpuset online = online_cpus();
    if (online.empty()) {
        WARN("no /sys/devices/system/cpu/online here");
        return;
    }
    CHECK(online.contains(static_cast<unsigned>(::sched_getcpu())));
}
