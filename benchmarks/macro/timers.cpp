// SPDX-License-Identifier: BSL-1.0
//
// How late a timer of 5 ms is beside many others: beside timers that are not due yet, around the time when they move
// from one level of the timing wheel to the next; and beside timers that are all due at the same time.
#include "support/statistics.hpp"

#include <CLI/CLI.hpp>
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// A timer of 5 ms of one CPU, which arms itself again. Its queue has a high priority, so that it measures timers, not
/// items.
class beat {
public:
    beat(cmwq::runtime& rt, unsigned cpu) : queue_(rt, {.name = "beat", .priority = cmwq::priority::high}), cpu_(cpu) {
        arm();
    }
    ~beat() {
        stop_ = true;
        timer_.cancel_sync();
    }
    void begin() {
        us_.clear();
        us_.reserve(1u << 16);
        samples_ = true;
    }
    /// How late it was since begin(), in microseconds.
    std::vector<double> end() {
        samples_ = false;
        queue_.flush();
        return us_;
    }

private:
    void arm() {
        due_ = clock_type::now() + 5ms;
        queue_.queue_after_on(cpu_, 5ms, timer_);
    }
    void tick() {
        if (samples_) us_.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due_).count());
        if (!stop_) arm();
    }

    cmwq::workqueue<cmwq::bound> queue_;
    const unsigned cpu_;
    clock_type::time_point due_;
    std::vector<double> us_;
    std::atomic<bool> samples_{false}, stop_{false};
    cmwq::delayed_work<std::function<void()>> timer_{[this] { tick(); }};
};

void print(const char* what, const std::vector<double>& us) {
    std::printf("%-44s %8zu %10.1f %10.1f %10.1f\n", what, us.size(), bench::median(us), bench::quantile(us, 0.99),
                bench::quantile(us, 1));
    std::fflush(stdout);
}

/// Timers of one CPU that only count their runs.
class crowd {
public:
    crowd(cmwq::runtime& rt, unsigned cpu, unsigned n) : queue_(rt, "crowd"), cpu_(cpu) {
        timers_.reserve(n);
        for (unsigned i = 0; i < n; ++i) timers_.push_back(std::make_unique<timer>([this] { ++nr_ran_; }));
    }
    ~crowd() {
        for (const auto& t : timers_) t->cancel_sync();
    }
    /// The delays from `first` to `last`, evenly.
    void arm(clock_type::duration first, clock_type::duration last) {
        const auto step = (last - first) / timers_.size();
        const auto now = clock_type::now();
        for (std::size_t i = 0; i < timers_.size(); ++i) {
            // From one time on, however long the calls take.
            timers_[i]->cancel();
            queue_.queue_after_on(cpu_, now + first + step * i - clock_type::now(), *timers_[i]);
        }
    }
    [[nodiscard]] bool all_ran() const { return nr_ran_ == timers_.size(); }

private:
    using timer = cmwq::delayed_work<std::function<void()>>;
    cmwq::workqueue<cmwq::bound> queue_;
    const unsigned cpu_;
    std::atomic<std::size_t> nr_ran_{0};
    std::vector<std::unique_ptr<timer>> timers_;
};

} // namespace

int main(int argc, char** argv) {
    unsigned nr_timers = 1'000'000, seconds = 150;
    CLI::App app{"How late a timer of 5 ms is beside many others.", "timers"};
    app.add_option("--timers", nr_timers, "number of the others")->capture_default_str();
    app.add_option("--seconds", seconds,
                   "time beside those that are not due; the higher levels of the wheel turn every 137 s")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    std::printf("microseconds late; %u other timers\n\n%-44s %8s %10s %10s %10s\n", nr_timers, "", "samples", "median",
                "p99", "most");
    cmwq::runtime rt;
    const unsigned first = *rt.cpus().begin(), next = rt.cpus().size() > 1 ? rt.cpus().next(first + 1) : first;
    beat same(rt, first), another(rt, next);
    const auto measure = [&](const std::string& what, const auto& wait) {
        same.begin();
        another.begin();
        wait();
        print((what + "; same CPU").c_str(), same.end());
        if (next != first) print((what + "; another CPU").c_str(), another.end());
    };
    measure("no other timers", [] { std::this_thread::sleep_for(5s); });
    crowd others(rt, first, nr_timers);
    const auto later = std::chrono::seconds{seconds} + 1s;
    others.arm(later, later + 137s);
    measure("others, not due yet", [&] { std::this_thread::sleep_for(std::chrono::seconds{seconds}); });
    const auto begin = clock_type::now();
    others.arm(5s, 5s);
    const auto rest = begin + 4900ms - clock_type::now();
    if (rest < 0s) std::printf("arming took longer than the delay\n");
    std::this_thread::sleep_for(rest);
    measure("others, all due at once", [&] {
        while (!others.all_ran()) std::this_thread::sleep_for(1ms);
    });
    return 0;
}
