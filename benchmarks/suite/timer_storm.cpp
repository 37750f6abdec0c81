// SPDX-License-Identifier: BSL-1.0
//
// Many timers: each is armed, modified and cancelled long before it is due. After that, how late fewer timers expire.
#include "workload.hpp"

#include "support/pools/asio_pool.hpp"
#include "support/pools/cmwq_pool.hpp"
#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"
#include "support/timer_thread.hpp"

#include <boost/asio/steady_timer.hpp>
#include <cmwq/delayed_work.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace suite {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// What the timers call. Timer i calls expired(i) when it is due.
class log {
public:
    explicit log(std::size_t n) : due_(n), late_(n) {}

    void set_due(std::size_t i, clock::time_point when) noexcept { due_[i] = when; }
    void expired(std::size_t i) noexcept {
        late_[i] = clock::now() - due_[i];
        expired_.add();
    }
    [[nodiscard]] const bench::tally& nr_expired() const noexcept { return expired_; }
    [[nodiscard]] std::vector<double> late_us() const {
        std::vector<double> us;
        us.reserve(late_.size());
        for (const nanoseconds& t : late_) us.push_back(std::chrono::duration<double, std::micro>(t).count());
        return us;
    }

private:
    std::vector<clock::time_point> due_;
    std::vector<nanoseconds> late_;
    bench::tally expired_;
};

/// `Timers(n, log)` makes n timers; `arm(i, delay)`, `modify(i, delay)`, `cancel_all()` do what they say.
template <class Timers>
void measure_storm(const run& r) {
    const std::size_t n = r.pick(2'000u, 100'000u, 1'000'000u);
    // Spread over a quarter of an hour, in no order, and never due before the end.
    const auto delay = [](std::size_t i) {
        return std::chrono::seconds{100} + std::chrono::microseconds{(i * 2654435761u) % 900'000'000u};
    };
    log l{n};
    Timers timers{n, l};
    const bench::stopwatch arming;
    for (std::size_t i = 0; i < n; ++i) timers.arm(i, delay(i));
    const double arm_ns = arming.ns();
    const bench::stopwatch modifying;
    for (std::size_t i = 0; i < n; ++i) timers.modify(i, delay(i + n));
    const double modify_ns = modifying.ns();
    const bench::stopwatch cancelling;
    r.verify(timers.cancel_all(), "not every timer could be cancelled");
    const double cancel_ns = cancelling.ns();
    r.verify(l.nr_expired().total() == 0, "timers have expired too early, or after they were cancelled");
    const auto each = static_cast<double>(n);
    r.report("arming", {{"ns_per_item", arm_ns / each}});
    r.report("modifying", {{"ns_per_item", modify_ns / each}});
    r.report("cancelling", {{"ns_per_item", cancel_ns / each}});
}

template <class Timers>
void measure_lateness(const run& r) {
    const std::size_t n = r.pick(50u, 1'000u, 5'000u);
    const nanoseconds span = std::chrono::milliseconds{r.pick(20, 400, 2'000)};
    log l{n};
    Timers timers{n, l};
    for (std::size_t i = 0; i < n; ++i) {
        const nanoseconds delay = std::chrono::milliseconds{10} + span * i / n;
        l.set_due(i, clock::now() + delay);
        timers.arm(i, delay);
    }
    r.verify(l.nr_expired().wait_for(n), "timers have not expired");
    r.verify(l.nr_expired().total() == n, "timers have expired twice");
    const std::vector<double> us = l.late_us();
    r.verify(bench::quantile(us, 0) >= 0, "a timer has expired too early");
    r.report("expiry", {{"late_p50_us", bench::median(us)},
                        {"late_p99_us", bench::quantile(us, 0.99)},
                        {"late_max_us", bench::quantile(us, 1)}});
}

template <class Policy>
class cmwq_timers {
public:
    cmwq_timers(std::size_t n, log& l) {
        for (std::size_t i = 0; i < n; ++i) items_.emplace_back(callback{&l, i});
    }
    [[nodiscard]] static std::string name() { return bench::cmwq_pool<Policy>::name(); }
    void arm(std::size_t i, nanoseconds delay) { pool_.queue().queue_after(delay, items_[i]); }
    void modify(std::size_t i, nanoseconds delay) { pool_.queue().modify(delay, items_[i]); }
    [[nodiscard]] bool cancel_all() {
        std::size_t cancelled = 0;
        for (auto& item : items_) cancelled += item.cancel() ? 1 : 0;
        return cancelled == items_.size();
    }

private:
    struct callback {
        void operator()() const noexcept { l->expired(i); }
        log* l;
        std::size_t i;
    };

    bench::cmwq_pool<Policy> pool_;
    std::deque<cmwq::delayed_work<callback>> items_;
};

/// A handler is called also when its timer is cancelled or modified.
class asio_timers {
public:
    asio_timers(std::size_t n, log& l) : log_(l) {
        timers_.reserve(n);
        for (std::size_t i = 0; i < n; ++i) timers_.emplace_back(pool_.context());
    }
    [[nodiscard]] static std::string name() { return bench::asio_pool::name(); }
    void arm(std::size_t i, nanoseconds delay) {
        timers_[i].expires_after(delay);
        ++waits_;
        timers_[i].async_wait([this, i](const boost::system::error_code& aborted) {
            if (!aborted) log_.expired(i);
            ended_.add();
        });
    }
    void modify(std::size_t i, nanoseconds delay) { arm(i, delay); }
    /// Waits for the handlers.
    [[nodiscard]] bool cancel_all() {
        for (boost::asio::steady_timer& t : timers_) t.cancel();
        return ended_.wait_for(waits_);
    }

private:
    log& log_;
    std::uint64_t waits_ = 0;
    bench::tally ended_;
    bench::asio_pool pool_;
    std::vector<boost::asio::steady_timer> timers_;
};

class thread_timers {
public:
    thread_timers(std::size_t n, log& l) : log_(l), handles_(n) {}
    [[nodiscard]] static std::string name() { return "timer thread"; }
    void arm(std::size_t i, nanoseconds delay) {
        handles_[i] = thread_.arm(clock::now() + delay, [this, i] { log_.expired(i); });
    }
    void modify(std::size_t i, nanoseconds delay) { handles_[i] = thread_.modify(handles_[i], clock::now() + delay); }
    [[nodiscard]] bool cancel_all() {
        for (const bench::timer_thread::handle h : handles_) thread_.cancel(h);
        return true;
    }

private:
    log& log_;
    std::vector<bench::timer_thread::handle> handles_;
    bench::timer_thread thread_;
};

template <class Timers>
void add(workload& w) {
    w.contenders.push_back({Timers::name(), [](const run& r) {
                                measure_storm<Timers>(r);
                                measure_lateness<Timers>(r);
                            }});
}

} // namespace

workload timer_storm() {
    workload w{"timer_storm", {}};
    add<cmwq_timers<cmwq::elastic>>(w);
    add<cmwq_timers<cmwq::bound>>(w);
    add<asio_timers>(w);
    add<thread_timers>(w);
    return w;
}

} // namespace suite
