// SPDX-License-Identifier: BSL-1.0
//
// Makes a runtime with queues of all priorities, and reports what the system refuses to it.
#include "doctor.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <latch>
#include <mutex>
#include <sched.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>

namespace cmwq_tool {

namespace {

using kind = cmwq::event::kind;

/// The kinds of events of a runtime on which items of all priorities have run, and one behind another one.
std::set<kind> events_of_a_runtime() {
    std::mutex lock;
    std::set<kind> seen;
    cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
        const std::lock_guard g(lock);
        seen.insert(e.what);
    }}};
    cmwq::workqueue<> normal{rt}, high{rt, {.priority = cmwq::priority::high}},
        fifo{rt, {.priority = cmwq::priority::fifo}};
    for (const unsigned cpu : rt.cpus()) {
        std::latch behind{1}; // the second item runs when a detector has found the first one blocked
        normal.post_on(cpu, [&] { behind.wait(); });
        normal.post_on(cpu, [&] { behind.count_down(); });
        for (cmwq::workqueue<>* const q : {&high, &fifo}) q->post_on(cpu, [] {});
        for (cmwq::workqueue<>* const q : {&normal, &high, &fifo}) q->flush();
    }
    return seen;
}

/// Runs f() on another thread, whose attributes do not matter afterwards.
template <class F>
auto elsewhere(const F& f) {
    decltype(f()) result{};
    std::thread([&] { result = f(); }).join();
    return result;
}

/// Returns 0, or the errno with which the system refuses to let a thread leave the idle class.
int leave_idle_class() {
    return elsewhere([] {
        const sched_param none{};
        if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) return 0; // it cannot even enter
        return ::sched_setscheduler(0, SCHED_OTHER, &none) == 0 ? 0 : errno;
    });
}

std::string limit_text(int resource) {
    rlimit l{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &l) != 0) return "unknown";
    return l.rlim_cur == RLIM_INFINITY ? "no limit" : std::to_string(l.rlim_cur);
}

} // namespace

std::vector<diagnosis> examine_machine() {
    using enum diagnosis::level;
    std::vector<diagnosis> all;
    const auto judge = [&](bool refused, const char* wanted, const char* instead, const char* remedy) {
        if (refused) all.push_back({degraded, std::string("refused: ") + wanted + "; " + instead, remedy});
        else all.push_back({good, std::string("permitted: ") + wanted});
    };

    const cmwq::topology& machine = cmwq::runtime::global().machine();
    std::string shape = std::to_string(cmwq::runtime::global().cpus().size()) + " CPUs " +
                        cmwq::runtime::global().cpus().to_string() + " for this process; hwloc sees";
    for (const cmwq::affinity_scope s : cmwq::affinity_scopes) {
        shape += ' ' + std::to_string(machine.pods(s).size()) + ' ' + std::string(to_string(s));
    }
    all.push_back({good, shape});
    if (const double quota = cmwq::detail::cpu_quota(); std::isfinite(quota)) {
        char text[64];
        std::snprintf(text, sizeof text, "a quota of %.2f CPUs (cgroup cpu.max)", quota);
        all.push_back({quota < static_cast<double>(cmwq::runtime::global().cpus().size()) ? degraded : good, text,
                       "pools are as wide as the quota; raise CPUQuota= in the unit, or the limit of the container"});
    }
    if (const cmwq::cpuset isolated = cmwq::detail::isolated_cpus(); !isolated.empty()) {
        all.push_back({good, "isolated CPUs " + isolated.to_string() + ": unbound items do not use them"});
    }

    const std::set<kind> events = events_of_a_runtime();
    judge(events.contains(kind::sentinel_refused), "SCHED_IDLE",
          "blocked workers are noticed in milliseconds instead of microseconds",
          "permit sched_setscheduler in the seccomp profile");
    judge(leave_idle_class() != 0, "leaving SCHED_IDLE",
          "a program that ends in the middle of its work may take a second to exit",
          "LimitNICE=0 in the unit, `ulimit -e 20`, or CAP_SYS_NICE");
    judge(events.contains(kind::priority_refused), "nice -20 and SCHED_FIFO",
          "queues of high and fifo priority have normal threads",
          "LimitNICE=-20 and LimitRTPRIO=1 in the unit, or CAP_SYS_NICE");
    judge(events.contains(kind::binding_refused), "binding threads to CPUs", "workers run where the system chooses",
          "permit sched_setaffinity in the seccomp profile");
    judge(events.contains(kind::no_thread), "making threads", "items wait, or run on the workers that exist",
          "more processes: `ulimit -u`, TasksMax= in the unit, pids.max of the container");
    judge(elsewhere([] {
              return cmwq::detail::describe_activity(cmwq::detail::main_thread_id()).find("waits in") ==
                     std::string::npos;
          }),
          "reading /proc/self/task/TID/syscall", "reports do not name the system calls in which items wait",
          "mount /proc, and permit the process to read its own");
    all.push_back({good, "descriptors: " + limit_text(RLIMIT_NOFILE) +
                             " (ulimit -n); processes and threads: " + limit_text(RLIMIT_NPROC) + " (ulimit -u)"});
    return all;
}

} // namespace cmwq_tool
