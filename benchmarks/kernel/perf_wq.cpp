// SPDX-License-Identifier: BSL-1.0
//
// The load generator perf-wq of 2010 beside a foreground job: many small items of many queues, which compute a little,
// sleep, compute again and queue themselves again later. The foreground job is any command; one copy runs on each CPU.
//
// The items are those of the document. Its clock ticked so slowly that short sleeps took several times as long as they
// should; here they take what they should, so the same items come more often. The load lasts as long as the job.
#include "original_queue.hpp"

#include "support/burn.hpp"
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/json.hpp"
#include "support/memory.hpp"
#include "support/statistics.hpp"
#include "support/timer_thread.hpp"
#include "support/usage.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// --- The items and the workloads -------------------------------------------------------------------------------------

struct item_class {
    const char* name;
    microseconds burn_long, burn_short;
    milliseconds mean_sleep, mean_delay;
};

enum class_index : unsigned char { short_items, medium_items, long_items };

constexpr std::array<item_class, 3> classes{
    {{"short", microseconds{50}, microseconds{1}, milliseconds{1}, milliseconds{10}},
     {"medium", microseconds{50}, microseconds{2}, milliseconds{10}, milliseconds{50}},
     {"long", microseconds{50}, microseconds{4}, milliseconds{100}, milliseconds{250}}}};

/// The items of one queue.
using items_of_queue = std::array<unsigned, 3>;

std::vector<items_of_queue> queues_of_workload(unsigned number) {
    std::vector<items_of_queue> queues;
    const auto add = [&](unsigned n, items_of_queue items) { queues.insert(queues.end(), n, items); };
    constexpr std::array<unsigned, 6> short_queues{12, 8, 4, 2, 2, 0};
    add(short_queues[number], {4, 0, 0});
    add(2, number < 4 ? items_of_queue{2, 2, 0} : items_of_queue{0, 2, 0});
    add(4, {0, 2, 1});
    add(8, {0, 0, 1});
    return queues;
}

// --- One item --------------------------------------------------------------------------------------------------------

struct load {
    const bench::cpu_burner burn;
    bool long_burn = false;
    std::atomic<bool> stop{false};
};

/// The work of an item, and the delays between the time at which it was due and its start. One thread uses it at a
/// time.
class item_body {
public:
    item_body(load& l, class_index c, unsigned seed) : load_(l), class_(c), random_(seed) {}

    void due_at(clock_type::time_point t) noexcept { due_ = t; }
    /// Returns how long the item stays away before it runs again.
    milliseconds run() {
        delay_us_.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due_).count());
        const item_class& c = classes[class_];
        const auto all = load_.long_burn ? c.burn_long : c.burn_short;
        const auto first = std::chrono::nanoseconds(below(std::chrono::nanoseconds(all).count() + 1));
        load_.burn(first);
        if (const milliseconds pause{below(2 * c.mean_sleep.count())}; pause.count() > 0)
            std::this_thread::sleep_for(pause);
        load_.burn(all - first);
        return milliseconds{below(2 * c.mean_delay.count())};
    }
    [[nodiscard]] class_index which() const noexcept { return class_; }
    [[nodiscard]] const std::vector<double>& delay_us() const noexcept { return delay_us_; }

private:
    std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }

    load& load_;
    const class_index class_;
    std::minstd_rand random_;
    clock_type::time_point due_;
    std::vector<double> delay_us_;
};

using bodies = std::deque<item_body>;

// --- The designs: each runs the items until the load stops -----------------------------------------------------------

/// With cmwq: queues of one policy on a runtime.
template <class Policy>
class with_cmwq {
public:
    with_cmwq(load& l, const std::vector<items_of_queue>& queues, bodies& all) {
        std::size_t next = 0;
        for (const items_of_queue& items : queues) {
            queues_.push_back(std::make_unique<cmwq::workqueue<Policy>>(runtime_, "perf-wq"));
            for (unsigned i = 0; i < items[0] + items[1] + items[2]; ++i)
                items_.emplace_back(l, *queues_.back(), all[next++]);
        }
        const std::vector<unsigned> cpus = bench::usable_cpus();
        unsigned n = 0;
        for (item& i : items_) i.start(cpus[n++ % cpus.size()]);
    }

private:
    class item {
    public:
        item(load& l, cmwq::workqueue<Policy>& q, item_body& b) : load_(l), queue_(q), body_(b) {}
        void start(unsigned cpu) {
            body_.due_at(clock_type::now());
            queue_.queue_after_on(cpu, milliseconds{0}, work_);
        }

    private:
        void run() {
            const milliseconds away = body_.run();
            if (load_.stop) return;
            body_.due_at(clock_type::now() + away);
            queue_.queue_after(away, work_);
        }

        load& load_;
        cmwq::workqueue<Policy>& queue_;
        item_body& body_;
        cmwq::delayed_work<std::function<void()>> work_{[this] { run(); }};
    };

    cmwq::runtime runtime_;
    std::vector<std::unique_ptr<cmwq::workqueue<Policy>>> queues_;
    std::deque<item> items_;
};

/// The design before it: each queue has threads of its own, timers queue the items.
class with_original_queues {
public:
    with_original_queues(load& l, const std::vector<items_of_queue>& queues, bodies& all, bench::original_queue::kind k)
        : load_(l) {
        std::size_t next = 0;
        unsigned cpu = 0;
        for (const items_of_queue& items : queues) {
            queues_.push_back(std::make_unique<bench::original_queue>(k));
            for (unsigned i = 0; i < items[0] + items[1] + items[2]; ++i) {
                item_body& body = all[next++];
                body.due_at(clock_type::now());
                queue(*queues_.back(), body, cpu++);
            }
        }
    }
    ~with_original_queues() {
        // After this timer no other one queues an item: it sees that the load has stopped.
        std::binary_semaphore last{0};
        timers_.arm(clock_type::now(), [&] { last.release(); });
        last.acquire();
    }
    with_original_queues(const with_original_queues&) = delete;
    with_original_queues& operator=(const with_original_queues&) = delete;

private:
    void queue(bench::original_queue& q, item_body& body, unsigned cpu) {
        q.queue_on(cpu, [this, &q, &body, cpu] {
            if (load_.stop) return;
            const milliseconds away = body.run();
            if (load_.stop) return;
            body.due_at(clock_type::now() + away);
            timers_.arm(clock_type::now() + away, [this, &q, &body, cpu] {
                if (!load_.stop) queue(q, body, cpu);
            });
        });
    }

    load& load_;
    bench::timer_thread timers_; // ends after the queues, whose items arm timers
    std::vector<std::unique_ptr<bench::original_queue>> queues_;
};

// --- The foreground --------------------------------------------------------------------------------------------------

struct job {
    double seconds = 0, cpu_seconds = 0;
};

/// Runs the command once on each CPU, and returns the means.
job run_jobs(const std::string& command) {
    const auto begin = clock_type::now();
    std::vector<pid_t> children;
    const std::vector<unsigned> cpus = bench::usable_cpus();
    for (const unsigned cpu : cpus) {
        const bench::pinned here{cpu}; // the child inherits it
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            ::_exit(127);
        }
        children.push_back(child);
    }
    job sum;
    for (std::size_t left = children.size(); left > 0; --left) {
        int status = 0;
        rusage used{};
        if (::wait4(-1, &status, 0, &used) < 0 || status != 0) {
            std::fprintf(stderr, "perf_wq: the command has failed: %s\n", command.c_str());
            std::_Exit(1);
        }
        sum.seconds += std::chrono::duration<double>(clock_type::now() - begin).count();
        sum.cpu_seconds += bench::cpu_seconds_of(used);
    }
    const auto n = static_cast<double>(children.size());
    return {sum.seconds / n, sum.cpu_seconds / n};
}

struct settings {
    unsigned workload = 0;
    std::string burn = "S", design = "bound", foreground;
};

/// What a design needs, while the load is there.
struct price {
    unsigned threads = 0; ///< of the process, at the end, without the main thread
    double resident_mib = 0;
};

void report(const settings& s, const job& done, const bodies& all, const price& p, const bench::usage& before) {
    bench::json_line line;
    line.add("workload", s.workload).add("burn", s.burn).add("design", s.design);
    line.add("foreground_seconds", done.seconds).add("foreground_cpu_seconds", done.cpu_seconds);
    if (s.design != "none") {
        const auto after = bench::usage::now();
        line.add("threads", p.threads).add("resident_mib", p.resident_mib);
        line.add("cpu_percent", cpu_percent(before, after));
        line.add("switches_per_second", switches_between(before, after) / seconds_between(before, after));
        for (unsigned c = 0; c < classes.size(); ++c) {
            std::vector<double> us;
            for (const item_body& b : all) {
                if (b.which() == c) us.insert(us.end(), b.delay_us().begin(), b.delay_us().end());
            }
            const std::string name = classes[c].name;
            line.add(name + "_runs", us.size());
            line.add(name + "_p50_us", bench::median(us)).add(name + "_p99_us", bench::quantile(us, 0.99));
            line.add(name + "_max_us", bench::quantile(us, 1));
        }
    }
    line.print();
}

template <class Design, class... Args>
void measure(const settings& s, Args... args) {
    load l;
    l.long_burn = s.burn == "L";
    const std::vector<items_of_queue> queues = queues_of_workload(s.workload);
    bodies all;
    for (const items_of_queue& items : queues) {
        for (unsigned c = 0; c < classes.size(); ++c) {
            for (unsigned i = 0; i < items[c]; ++i) {
                all.emplace_back(l, static_cast<class_index>(c), static_cast<unsigned>(all.size()) + 1);
            }
        }
    }
    job done;
    price p;
    const auto before = bench::usage::now();
    {
        Design design(l, queues, all, args...);
        done = run_jobs(s.foreground);
        l.stop = true;
        p = {bench::threads_of_process() - 1, static_cast<double>(bench::memory::now().resident_bytes) / 0x1p20};
    }
    report(s, done, all, p, before);
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"A foreground job beside the load of perf-wq. Prints one line of JSON.", "perf_wq"};
    app.add_option("--workload", s.workload, "0 to 5: from many short items to few")
        ->check(bench::between(0, 5))
        ->capture_default_str();
    app.add_option("--burn", s.burn, "CPU time of an item: L, 50 µs; S, 1 µs, 2 µs or 4 µs")
        ->check(CLI::IsMember({"L", "S"}))
        ->capture_default_str();
    app.add_option(
           "--design", s.design,
           "none: no load; bound, elastic or unbound: queues of cmwq; multi-threaded: a thread for each queue on "
           "each CPU; single-threaded: a thread for each queue")
        ->check(CLI::IsMember({"none", "bound", "elastic", "unbound", "multi-threaded", "single-threaded"}))
        ->capture_default_str();
    app.add_option("--foreground", s.foreground,
                   "a command, of which one copy runs on each CPU; the load lasts as long")
        ->required();
    CLI11_PARSE(app, argc, argv);

    return bench::run_and_report("perf_wq", [&] {
        if (s.foreground.empty()) throw std::invalid_argument("--foreground: the command is empty");
        using kind = bench::original_queue::kind;
        if (s.design == "bound") measure<with_cmwq<cmwq::bound>>(s);
        else if (s.design == "elastic") measure<with_cmwq<cmwq::elastic>>(s);
        else if (s.design == "unbound") measure<with_cmwq<cmwq::unbound>>(s);
        else if (s.design == "multi-threaded") measure<with_original_queues>(s, kind::multi_threaded);
        else if (s.design == "single-threaded") measure<with_original_queues>(s, kind::single_threaded);
        else report(s, run_jobs(s.foreground), {}, {}, bench::usage::now());
    });
}
