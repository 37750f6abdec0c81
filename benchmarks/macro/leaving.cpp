// SPDX-License-Identifier: BSL-1.0
//
// How long a program takes to end while other processes compute: the time from exit, exec() and SIGKILL to the end of
// the process, for queues of three policies; and the lateness of a timer while an idle-class queue with many workers is
// destroyed.
#include "support/hogs.hpp"
#include "support/statistics.hpp"

#include <cmwq/cmwq.hpp>

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

struct settings {
    unsigned hogs = 4;
    unsigned repetitions = 7;
    unsigned workers = 64;
    unsigned items = 16;
    unsigned quiet_ms = 300;
};

std::int64_t now() { return clock_type::now().time_since_epoch().count(); }

void print(const char* what, std::vector<double> ms) {
    std::printf("%-34s %10.1f %10.1f %10.1f\n", what, bench::quantile(ms, 0), bench::median(ms),
                bench::quantile(ms, 1));
    std::fflush(stdout);
}

enum class way { exits, execs, is_killed };

/// Uses a queue, rests, and then leaves, or waits for SIGKILL. Writes the time when it begins to leave.
template <class P>
[[noreturn]] void be_child(const settings& s, way w, int tell) {
    std::optional<cmwq::runtime> runtime(std::in_place);
    std::optional<cmwq::workqueue<P>> queue(std::in_place, *runtime, "used");
    const std::vector<unsigned> cpus(runtime->cpus().begin(), runtime->cpus().end());
    for (unsigned i = 0; i < s.items; ++i) {
        queue->post_on(cpus[i % cpus.size()], [] { std::this_thread::sleep_for(100us); });
    }
    queue->drain();
    std::this_thread::sleep_for(std::chrono::milliseconds{s.quiet_ms});
    const std::int64_t begin = now();
    if (::write(tell, &begin, sizeof begin) != sizeof begin) std::abort();
    switch (w) {
    case way::exits:
        queue.reset();
        runtime.reset();
        ::_exit(0);
    case way::execs: ::execl("/bin/true", "true", nullptr); ::_exit(127);
    case way::is_killed: break;
    }
    for (;;) ::pause();
}

[[noreturn]] void be_child(const settings& s, const std::string& policy, way w, int tell) {
    if (policy == "bound") be_child<cmwq::bound>(s, w, tell);
    if (policy == "elastic") be_child<cmwq::elastic>(s, w, tell);
    be_child<cmwq::unbound>(s, w, tell);
}

/// Milliseconds from the start of the exit, exec or kill to the end of the process. The child reports the start through
/// a pipe.
double time_to_go(const settings& s, const std::string& policy, way w) {
    int told[2];
    if (::pipe(told) != 0) std::exit(1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(told[0]);
        const std::string fd = std::to_string(told[1]), how = std::to_string(static_cast<int>(w));
        const std::string items = std::to_string(s.items), quiet = std::to_string(s.quiet_ms);
        const char* const self = "/proc/self/exe";
        ::execl(self, self, "--child", how.c_str(), "--tell", fd.c_str(), "--policy", policy.c_str(), "--items",
                items.c_str(), "--quiet", quiet.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(told[1]);
    std::int64_t begin = 0;
    if (::read(told[0], &begin, sizeof begin) != sizeof begin) std::exit(1);
    if (w == way::is_killed) {
        begin = now();
        ::kill(child, SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::int64_t end = now();
    ::close(told[0]);
    return static_cast<double>(end - begin) / 1e6;
}

/// The worst lateness of a timer of 10 ms, from the moment when the destruction of the other queue begins.
double lateness(const settings& s, const bench::hogs& others) {
    others.pause(); // beside them, the idle-class workers would also need a long time to begin
    cmwq::runtime runtime;
    cmwq::workqueue<cmwq::bound> timed{runtime, {.name = "timed", .priority = cmwq::priority::high}};
    std::atomic<std::int64_t> worst{0}, due{0};
    std::atomic<bool> stop{false};
    cmwq::delayed_work<std::function<void()>> beat{[&] {
        const std::int64_t late = now() - due;
        if (late > worst) worst = late;
        if (stop) return;
        due = now() + 10'000'000;
        timed.queue_after(10ms, beat);
    }};
    std::optional<cmwq::workqueue<cmwq::unbound>> low;
    low.emplace(runtime,
                cmwq::options<cmwq::unbound>{.name = "low", .attrs = cmwq::attrs{}.scheduling(cmwq::scheduling::idle)});
    std::atomic<unsigned> inside{0};
    for (unsigned i = 0; i < s.workers; ++i) {
        low->post([&] {
            ++inside;
            while (inside < s.workers) std::this_thread::sleep_for(1ms);
        });
    }
    low->drain();
    others.resume();
    due = now() + 10'000'000;
    timed.queue_after(10ms, beat);
    std::this_thread::sleep_for(200ms);
    worst = 0;
    low.reset(); // the pool has no queue any more: its workers end
    std::this_thread::sleep_for(3s);
    stop = true;
    beat.flush(); // so that a timer that has not expired yet counts, too
    return static_cast<double>(worst.load()) / 1e6;
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    int child = -1, tell = -1;
    std::string part = "all", policy = "all";
    CLI::App app{"How long a program takes to end while other processes compute.", "leaving"};
    app.add_option("--hogs", s.hogs, "number of other processes that compute")->capture_default_str();
    app.add_option("--repetitions", s.repetitions, "repetitions of each measurement")->capture_default_str();
    app.add_option("--items", s.items, "items before the end, on the CPUs in turn; one alone needs no sentinel")
        ->capture_default_str();
    app.add_option("--quiet", s.quiet_ms, "milliseconds between the last item and the end")->capture_default_str();
    app.add_option("--workers", s.workers, "workers of the idle-class queue that is destroyed")->capture_default_str();
    app.add_option("--part", part, "part to run: exit, exec, kill, timer or all")->capture_default_str();
    app.add_option("--policy", policy, "policy of the queue: bound, elastic, unbound or all")
        ->check(CLI::IsMember({"bound", "elastic", "unbound", "all"}))
        ->capture_default_str();
    app.add_option("--child", child, "internal");
    app.add_option("--tell", tell, "internal");
    CLI11_PARSE(app, argc, argv);
    if (child >= 0) be_child(s, policy, static_cast<way>(child), tell);
    const auto wanted = [&](const char* name) { return part == "all" || part == name; };
    const bench::hogs others(s.hogs);
    std::printf("milliseconds, beside %u processes that compute, %u times; %u items, then %u ms\n\n"
                "%-34s %10s %10s %10s\n",
                s.hogs, s.repetitions, s.items, s.quiet_ms, "", "least", "median", "most");
    const auto measure = [&](const std::string& what, const auto& once) {
        std::vector<double> ms;
        for (unsigned i = 0; i < s.repetitions; ++i) ms.push_back(once());
        print(what.c_str(), ms);
    };
    for (const char* of : {"bound", "elastic", "unbound"}) {
        if (policy != "all" && policy != of) continue;
        const auto leaves = [&](const char* name, const char* what, way w) {
            if (wanted(name)) measure(what + std::string(", ") + of, [&] { return time_to_go(s, of, w); });
        };
        leaves("exit", "exit", way::exits);
        leaves("exec", "exec, to the end of /bin/true", way::execs);
        leaves("kill", "SIGKILL", way::is_killed);
    }
    if (wanted("timer")) measure("worst lateness of a 10 ms timer", [&] { return lateness(s, others); });
    return 0;
}
