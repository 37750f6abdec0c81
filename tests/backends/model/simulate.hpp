// SPDX-License-Identifier: BSL-1.0
//
// The simulation: one schedule, in virtual time. Each logical CPU runs one logical thread, first come first served,
// until that thread blocks; only a thread of a higher class preempts it. Time passes by burn(), sleep() and deadlines,
// on all CPUs at once; all other operations take no time. Atomics are plain variables here.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <model/body.hpp>
#include <model/options.hpp>

#include <algorithm>
#include <list>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The options of a simulation.
struct simulation {
    std::string name = "unnamed";
    bool quiet = false;                      ///< print nothing
    std::uint64_t max_switches = 20'000'000; ///< a run with more is a livelock
    std::uint64_t max_steps = 10'000'000;    ///< a run with more operations between two switches is a livelock
    bool trace = false;                      ///< print the operations of the threads, except those on atomics
    surroundings around = {};
};

/// The result of a simulation.
struct simulated {
    bool failed = false;
    std::string message;
    std::int64_t elapsed = 0; ///< virtual nanoseconds

    explicit operator bool() const noexcept { return !failed; }
};

/// The world of one simulation. All of it runs on one OS thread.
class simulator final : public world {
public:
    simulator(simulation o, std::function<void()> body) : o_(std::move(o)), body_(std::move(body)) {
        around_ = o_.around;
        cpus_.resize(around_.cpus);
        tracing_ = o_.trace || std::getenv("CMWQ_MODEL_TRACE") != nullptr;
    }

    simulated simulate() {
        const crash_guard guard([this] { return "the simulation " + o_.name; });
        execute(body_);
        if (r_.failed && !o_.quiet)
            std::fprintf(stderr, "cmwq model: %s failed after %lld virtual ns: %s\n", o_.name.c_str(),
                         static_cast<long long>(now_ - start_of_time), r_.message.c_str());
        r_.elapsed = now_ - start_of_time;
        return r_;
    }

    // ---- world ----------------------------------------------------------------------------------------------------

    void point() noexcept override {
        if (++steps_ > o_.max_steps) fail("a thread goes on for ever while no time passes: " + states());
    }

    void settle() noexcept override {
        if (!overtaken_) return;
        overtaken_ = false;
        reschedule();
    }

    bool block(thread_status why, const void* on, std::int64_t deadline) noexcept override {
        logical_thread& t = *self_;
        if (deadline <= now_) return true;
        t.status = why;
        t.waits_for = on;
        t.waits_since = ++arrivals_;
        t.deadline = deadline;
        t.timed_out = false;
        cpus_[t.seat].running = nullptr;
        reschedule();
        return t.timed_out;
    }

    void wake(logical_thread& t) noexcept override {
        if (t.blocked()) make_ready(t);
    }

    /// Wakes the thread that has waited longest for a mutex or a semaphore, or all threads that join `on`.
    void wake_waiters(const void* on) noexcept override {
        logical_thread* first = nullptr;
        for (unsigned i = 0; i < nr_threads_; ++i) {
            logical_thread& t = *threads_[i];
            if (!t.blocked() || t.waits_for != on) continue;
            if (t.status == thread_status::joining) make_ready(t);
            else if (first == nullptr || t.waits_since < first->waits_since) first = &t;
        }
        if (first != nullptr) make_ready(*first);
    }

    void pause() noexcept override {
        trace("goes round a waiting loop");
        // The thread leaves its CPU, because the real backoff sleeps after a few rounds, so that threads of any class
        // run.
        cpus_[self_->seat].running = nullptr;
        give_way(thread_status::paused);
    }

    void yield() noexcept override {
        trace("yields");
        cpu& c = cpus_[self_->seat];
        if (highest(c) >= static_cast<int>(self_->importance)) {
            c.running = nullptr;
            enqueue(*self_, false);
            reschedule();
        } else {
            give_way(thread_status::yielding); // no thread of its class is ready; it keeps the CPU from lower classes
        }
    }

    void burn(std::int64_t ns) noexcept override {
        if (ns <= 0) return;
        trace("burns %lld ns", static_cast<long long>(ns));
        self_->burn_left = ns;
        start_burning(*self_);
        reschedule();
    }

    void replaced() noexcept override {
        logical_thread& t = *self_;
        const unsigned seat = t.bound_to >= 0 ? static_cast<unsigned>(t.bound_to) : own_cpu(t);
        cpus_[t.seat].running = nullptr;
        if (seat == t.seat) {
            enqueue(t, true); // a ready thread may have a higher class now
        } else {
            t.seat = seat;
            enqueue(t, false);
        }
        reschedule();
    }

    unsigned choose_store(unsigned) noexcept override { return 0; }
    bool spurious() noexcept override { return false; }

    [[noreturn]] void fail(const std::string& why) noexcept override {
        if (!r_.failed) {
            r_.failed = true;
            r_.message = why;
        }
        go_outside();
    }

protected:
    void admit(logical_thread& t) noexcept override {
        t.seat = own_cpu(t);
        if (self_ == nullptr) {
            cpus_[t.seat].running = &t;
        } else {
            enqueue(t, false);
        }
    }

    void leave() noexcept override {
        cpus_[self_->seat].running = nullptr;
        reschedule();
    }

    void after_mutation() noexcept override {}

private:
    static constexpr std::size_t nr_ranks = 4;
    static constexpr unsigned looks_per_moment = 64;

    struct cpu {
        logical_thread* running = nullptr; ///< null, executing, burning or yielding
        std::array<std::list<logical_thread*>, nr_ranks> ready;
    };

    // A thread that is bound to no CPU runs in parallel with all others: it gets a CPU of its own.
    unsigned own_cpu(const logical_thread& t) {
        const unsigned seat = around_.cpus + t.id;
        if (cpus_.size() <= seat) cpus_.resize(seat + 1);
        return seat;
    }

    [[nodiscard]] static int highest(const cpu& c) noexcept {
        for (std::size_t r = nr_ranks; r-- > 0;)
            if (!c.ready[r].empty()) return static_cast<int>(r);
        return -1;
    }

    void enqueue(logical_thread& t, bool in_front) noexcept {
        t.status = thread_status::ready;
        t.deadline = never;
        t.since = now_;
        cpu& c = cpus_[t.seat];
        auto& q = c.ready[static_cast<std::size_t>(t.importance)];
        q.insert(in_front ? q.begin() : q.end(), &t);
    }

    void make_ready(logical_thread& t) noexcept {
        enqueue(t, false);
        if (self_ != nullptr && cpus_[t.seat].running == self_ && t.importance > self_->importance) overtaken_ = true;
    }

    void start_burning(logical_thread& t) noexcept {
        t.burning = true;
        t.since = now_;
    }

    void stop_burning(logical_thread& t) noexcept {
        t.burning = false;
        t.burn_left -= now_ - t.since;
        t.cpu_time += now_ - t.since;
    }

    void give_way(thread_status how) noexcept {
        logical_thread& t = *self_;
        t.status = how;
        t.seen_mutations = mutations_;
        if (std::exchange(t.looked_at, now_) != now_) t.looks = 0;
        ++t.looks;
        waiting_.push_back(&t);
        reschedule();
    }

    // ---- scheduling -------------------------------------------------------------------------------------------------

    void reschedule() noexcept {
        if (++switches_ > o_.max_switches) fail("too many switches: " + states());
        steps_ = 0;
        overtaken_ = false;
        logical_thread& next = choose();
        if (&next != self_) go_to(next);
    }

    logical_thread& choose() noexcept {
        for (;;) {
            const std::size_t n = cpus_.size();
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t at = (turn_ + i) % n;
                elect(cpus_[at]);
                logical_thread* t = cpus_[at].running;
                if (t == nullptr || t->burning || t->status == thread_status::yielding) continue;
                turn_ = at;
                return *t;
            }
            if (!look_again(false)) advance();
        }
    }

    void elect(cpu& c) noexcept {
        const int best = highest(c);
        if (best < 0) return;
        if (c.running != nullptr) {
            logical_thread& t = *c.running;
            const bool yielding = t.status == thread_status::yielding;
            const int its = static_cast<int>(t.importance);
            if (best < its || (best == its && !yielding)) return;
            if (t.burning) stop_burning(t);
            if (yielding) std::erase(waiting_, &t);
            enqueue(t, !yielding);
        }
        auto& q = c.ready[static_cast<std::size_t>(best)];
        c.running = q.front();
        q.pop_front();
        logical_thread& t = *c.running;
        t.wait_time += now_ - t.since;
        if (t.burn_left > 0) start_burning(t);
    }

    /// Lets waiting loops check again: those for which something may have changed, or all of them. A yield on an idle
    /// CPU returns at once, as a real one does, but only a limited number of times at one moment, because otherwise no
    /// time would pass. Returns whether any loop checks again.
    bool look_again(bool all) noexcept {
        bool any = false;
        std::vector<logical_thread*> still;
        still.swap(waiting_);
        for (logical_thread* t : still) {
            const bool may = t->status == thread_status::yielding || t->seen_mutations != mutations_;
            if (!all && (!may || t->looks >= looks_per_moment)) {
                waiting_.push_back(t);
                continue;
            }
            any = true;
            if (t->status == thread_status::yielding) t->status = thread_status::ready;
            else enqueue(*t, false);
        }
        return any;
    }

    /// Called when no thread can run at this moment: moves the time to the next event.
    void advance() noexcept {
        std::int64_t next = never;
        bool others = false;
        for (unsigned i = 0; i < nr_threads_; ++i) {
            const logical_thread& t = *threads_[i];
            if (t.burning) next = std::min(next, t.since + t.burn_left);
            if (t.blocked()) next = std::min(next, t.deadline);
            others |= t.status != thread_status::finished;
        }
        if (!others) go_outside();
        if (next == never) {
            if (waiting_.empty()) fail("deadlock: " + states());
            if (++idle_moments_ > 100'000) fail("only waiting loops are left: " + states());
            next = now_ + 1'000;
        } else {
            idle_moments_ = 0;
        }
        now_ = next;
        // In the order of the thread numbers. A thread whose burn ends now runs only after this loop, and so finds the
        // threads whose deadlines have passed in the queues.
        for (unsigned i = 0; i < nr_threads_; ++i) {
            logical_thread& t = *threads_[i];
            if (t.burning && t.since + t.burn_left <= now_) {
                stop_burning(t);
                t.burn_left = 0;
            } else if (t.blocked() && t.deadline <= now_) {
                t.timed_out = true;
                enqueue(t, false);
            }
        }
        look_again(true);
    }

    simulation o_;
    std::function<void()> body_;
    simulated r_;
    std::deque<cpu> cpus_;                 ///< those of the machine, then one for each thread that is not bound
    std::vector<logical_thread*> waiting_; ///< paused or yielding
    std::size_t turn_ = 0;
    std::uint64_t arrivals_ = 0, switches_ = 0, steps_ = 0, idle_moments_ = 0;
    bool overtaken_ = false;
};

/// Runs `body` as an unbound logical thread, until it and every thread that it started have ended.
inline simulated simulate(simulation o, std::function<void()> body) {
    return simulator(std::move(o), std::move(body)).simulate();
}

}}} // namespace cmwq::CMWQ_NS::detail::model
