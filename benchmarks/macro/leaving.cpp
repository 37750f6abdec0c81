// SPDX-License-Identifier: BSL-1.0
//
// How long a program takes to end while other processes compute: the time from exit(), exec() and SIGKILL to the end of
// the process, the time of the destructor of a runtime, and the lateness of a timer while an idle-class queue with many
// workers is destroyed.
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
    unsigned hogs = 8;
    unsigned repetitions = 7;
    unsigned workers = 64;
    bool no_sentinel = false;
};

/// Arms the sentinel of every CPU. Afterwards it sleeps again, if it got the CPU for that.
void use(cmwq::runtime& runtime, cmwq::workqueue<>& queue) {
    for (const unsigned cpu : runtime.cpus()) {
        for (int i = 0; i < 4; ++i) queue.post_on(cpu, [] { std::this_thread::sleep_for(100us); });
    }
    queue.drain();
}

std::int64_t now() { return clock_type::now().time_since_epoch().count(); }

void print(const char* what, std::vector<double> ms) {
    std::printf("%-34s %10.1f %10.1f %10.1f\n", what, bench::quantile(ms, 0), bench::median(ms),
                bench::quantile(ms, 1));
    std::fflush(stdout);
}

enum class way { exits, execs, is_killed };

/// Milliseconds from the start of the exit, exec or kill to the end of the process. The child reports the start through
/// a pipe.
double time_to_go(const settings& s, way w, const char* self) {
    int told[2];
    if (::pipe(told) != 0) std::exit(1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(told[0]);
        const std::string fd = std::to_string(told[1]), how = std::to_string(static_cast<int>(w));
        ::execl(self, self, "--child", how.c_str(), "--tell", fd.c_str(), s.no_sentinel ? "--no-sentinel" : nullptr,
                nullptr);
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

[[noreturn]] void be_child(const settings& s, way w, int tell) {
    auto* runtime = new cmwq::runtime{{.sentinel = !s.no_sentinel}};
    auto* queue = new cmwq::workqueue<>{*runtime, "used"};
    use(*runtime, *queue);
    std::this_thread::sleep_for(300ms);
    const std::int64_t begin = now();
    if (::write(tell, &begin, sizeof begin) != sizeof begin) std::abort();
    switch (w) {
    case way::exits: ::_exit(0);
    case way::execs: ::execl("/bin/true", "true", nullptr); ::_exit(127);
    case way::is_killed: break;
    }
    for (;;) ::pause();
}

double time_of_destructor(const settings& s) {
    std::optional<cmwq::runtime> runtime(std::in_place, cmwq::runtime_options{.sentinel = !s.no_sentinel});
    {
        cmwq::workqueue<> queue{*runtime, "used"};
        use(*runtime, queue);
    }
    std::this_thread::sleep_for(300ms);
    const std::int64_t begin = now();
    runtime.reset();
    return static_cast<double>(now() - begin) / 1e6;
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
    std::string part = "all";
    CLI::App app{"How long a program takes to end while other processes compute.", "leaving"};
    app.add_option("--hogs", s.hogs, "number of other processes that compute")->capture_default_str();
    app.add_option("--repetitions", s.repetitions, "repetitions of each measurement")->capture_default_str();
    app.add_option("--workers", s.workers, "workers of the idle-class queue that is destroyed")->capture_default_str();
    app.add_flag("--no-sentinel", s.no_sentinel, "without sentinels");
    app.add_option("--part", part, "part to run: exit, exec, kill, runtime, timer or all")->capture_default_str();
    app.add_option("--child", child, "internal");
    app.add_option("--tell", tell, "internal");
    CLI11_PARSE(app, argc, argv);
    if (child >= 0) be_child(s, static_cast<way>(child), tell);
    const auto wanted = [&](const char* name) { return part == "all" || part == name; };
    const bench::hogs others(s.hogs);
    std::printf("milliseconds, beside %u processes that compute, %u times%s\n\n%-34s %10s %10s %10s\n", s.hogs,
                s.repetitions, s.no_sentinel ? ", without sentinels" : "", "", "least", "median", "most");
    const auto measure = [&](const char* name, const char* what, const auto& once) {
        if (!wanted(name)) return;
        std::vector<double> ms;
        for (unsigned i = 0; i < s.repetitions; ++i) ms.push_back(once());
        print(what, ms);
    };
    measure("exit", "exit", [&] { return time_to_go(s, way::exits, "/proc/self/exe"); });
    measure("exec", "exec, to the end of /bin/true", [&] { return time_to_go(s, way::execs, "/proc/self/exe"); });
    measure("kill", "SIGKILL", [&] { return time_to_go(s, way::is_killed, "/proc/self/exe"); });
    measure("runtime", "~runtime()", [&] { return time_of_destructor(s); });
    measure("timer", "worst lateness of a 10 ms timer", [&] { return lateness(s, others); });
    return 0;
}
