// SPDX-License-Identifier: BSL-1.0
//
// The search: runs a body repeatedly, each time with another interleaving and other stale reads. At first exhaustively
// within bounds, depth first, with few preemptions before many; then at random without these bounds.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <model/body.hpp>
#include <model/options.hpp>

#include <bit>
#include <chrono>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The world of one search. All of it runs on one OS thread.
class explorer final : public world {
public:
    explorer(options o, std::function<void()> body) : o_(std::move(o)), body_(std::move(body)) {
        from_environment(o_.preemptions, "CMWQ_MODEL_PREEMPTIONS");
        from_environment(o_.seconds, "CMWQ_MODEL_SECONDS");
        from_environment(o_.seed, "CMWQ_SEED");
        if (const char* s = std::getenv("CMWQ_MODEL_REPLAY"); s != nullptr && o_.replay.empty()) {
            const std::string text = s;
            if (text.substr(0, text.find('@')) == o_.name) {
                o_.replay = text;
                o_.quiet = false; // a replay prints
                ++nr_replayed();
            }
        }
        around_ = o_.around;
        searching_ = true;
    }

    result explore() {
        const crash_guard guard([this] { return schedule(); });
        began_ = std::chrono::steady_clock::now();
        if (!o_.replay.empty()) {
            replay();
        } else {
            exhaust();
            if (!r_.failed) wander();
        }
        r_.seconds = spent();
        if (!o_.quiet) report();
        return r_;
    }

    // ---- world ----------------------------------------------------------------------------------------------------

    void point() noexcept override {
        count_step();
        if (!choosing_) return;
        logical_thread& t = *self_;
        const bool jumped = jumps_left_ != 0 && maybe_jump();
        if (t.may_stall && stalls_left_ != 0 && (o_.stalls_with_locks || t.nr_locks == 0) && maybe_stall()) return;
        // No other thread can see what a thread does before its first step, so a preemption there finds nothing new.
        if (std::exchange(t.fresh, false) && !jumped) return;
        const std::uint32_t others = runnable_ & ~bit(t);
        if (others == 0 || preemptions_left_ == 0) return;
        const unsigned next = pick(t.id, others, true);
        if (next == t.id) return;
        --preemptions_left_;
        resume(next);
    }

    void settle() noexcept override {}

    bool block(thread_status why, const void* on, std::int64_t deadline) noexcept override {
        count_step();
        logical_thread& t = *self_;
        t.status = why;
        t.waits_for = on;
        t.deadline = deadline;
        t.timed_out = false;
        runnable_ &= ~bit(t);
        if (deadline != never) timed_ |= bit(t);
        go_on();
        return t.timed_out;
    }

    void wake(logical_thread& t) noexcept override { make_ready(t); }

    void wake_waiters(const void* on) noexcept override {
        for (unsigned i = 0; i < nr_threads_; ++i) {
            logical_thread& t = *threads_[i];
            if (t.blocked() && t.waits_for == on) make_ready(t);
        }
    }

    void pause() noexcept override {
        count_step();
        logical_thread& t = *self_;
        trace("goes round a waiting loop");
        t.status = thread_status::paused;
        runnable_ &= ~bit(t);
        paused_ |= bit(t);
        nr_paused_ = 1;
        // Otherwise two loops that wake each other could keep the thread that they wait for from running for ever.
        if (mode_ == mode::priorities) priority_[t.id] = --lowest_priority_;
        go_on();
    }

    void yield() noexcept override { pause(); }

    // In a search operations take no time; a thread that burns moves the clock of all threads.
    void burn(std::int64_t ns) noexcept override {
        point();
        now_ += ns;
        self_->cpu_time += ns;
        expire();
    }

    void replaced() noexcept override {}

    unsigned choose_store(unsigned n) noexcept override {
        if (stale_left_ == 0 || !choosing_) return 0;
        const unsigned c =
            choose(n, [this](unsigned k) { return random_() % 4 == 0 ? static_cast<unsigned>(random_() % k) : 0u; });
        if (c != 0) --stale_left_;
        return c;
    }

    bool spurious() noexcept override { return o_.spurious_failures && choose_store(2) != 0; }

    [[noreturn]] void fail(const std::string& why) noexcept override {
        // Keeps the first failure; a failure while it is reported must not replace it.
        if (!failed_) {
            failed_ = true;
            why_ = why;
            trace("FAILED: %s", why.c_str());
        }
        go_outside();
    }

protected:
    void admit(logical_thread& t) noexcept override {
        t.status = thread_status::ready;
        runnable_ |= bit(t);
    }

    void leave() noexcept override {
        runnable_ &= ~bit(*self_);
        go_on();
    }

    void after_mutation() noexcept override {
        rounds_ = 0;
        const std::uint32_t woken = paused_ & ~bit(*self_);
        paused_ &= ~woken;
        runnable_ |= woken;
        for (std::uint32_t m = woken; m != 0; m &= m - 1) thread_at(lowest(m)).status = thread_status::ready;
        nr_paused_ = paused_ != 0;
    }

private:
    struct choice {
        unsigned char taken, of;
    };
    enum class mode : unsigned char { depth_first, walk, priorities, replay };

    static constexpr unsigned unbounded = 999'999;

    static std::uint32_t bit(const logical_thread& t) noexcept { return 1u << t.id; }
    static unsigned lowest(std::uint32_t m) noexcept { return static_cast<unsigned>(std::countr_zero(m)); }

    // ---- choices --------------------------------------------------------------------------------------------------

    /// Makes a choice: 0 ... n-1. Repeats the choices of `path_`; after these, takes 0 in a depth-first search, and
    /// `at_random(n)` in a random one.
    template <class F>
    unsigned choose(unsigned n, F at_random) noexcept {
        if (n <= 1) return 0;
        unsigned c = 0;
        if (position_ < path_.size()) {
            c = path_[position_].taken;
            if (mode_ == mode::replay) path_[position_].of = static_cast<unsigned char>(n);
            if (path_[position_].of != n || c >= n) {
                ++position_;
                fail("this execution went another way than the last one: the body is not deterministic");
            }
        } else {
            if (mode_ == mode::walk || mode_ == mode::priorities) c = at_random(n);
            path_.push_back({static_cast<unsigned char>(c), static_cast<unsigned char>(n)});
        }
        ++position_;
        return c;
    }

    /// Chooses the thread that runs next: `first`, or one of `others`. `may_stay`: `first` is the running thread.
    unsigned pick(unsigned first, std::uint32_t others, bool may_stay) noexcept {
        unsigned ids[max_threads + 1];
        unsigned n = 0;
        ids[n++] = first;
        // Round robin, so that the default choices are fair.
        const std::uint32_t later = first + 1 < 32 ? others & (~0u << (first + 1)) : 0;
        for (std::uint32_t m = later; m != 0; m &= m - 1) ids[n++] = lowest(m);
        for (std::uint32_t m = others & ~later & ~(1u << first); m != 0; m &= m - 1) ids[n++] = lowest(m);
        return ids[choose(n, [&](unsigned k) {
            if (mode_ == mode::walk) {
                if (may_stay && random_() % stay_ != 0) return 0u;
                return static_cast<unsigned>(random_() % k);
            }
            unsigned best = 0;
            for (unsigned i = 1; i < k; ++i)
                if (priority_[ids[i]] > priority_[ids[best]]) best = i;
            return best;
        })];
    }

    bool maybe_jump() noexcept {
        if (timed_ == 0) return false;
        if (choose(2, [this](unsigned) { return random_() % 16 == 0 ? 1u : 0u; }) == 0) return false;
        --jumps_left_;
        jump();
        return true;
    }

    // May stop the running thread for an hour of virtual time, that is, until no other thread can run.
    bool maybe_stall() noexcept {
        if (choose(2, [this](unsigned) { return random_() % 8 == 0 ? 1u : 0u; }) == 0) return false;
        --stalls_left_;
        trace("(stands still for an hour)");
        for (const std::int64_t end = now_ + 3'600'000'000'000; now_ < end;) block(thread_status::asleep, self_, end);
        return true;
    }

    // ---- scheduling -----------------------------------------------------------------------------------------------

    void count_step() noexcept {
        ++all_steps_;
        if (++steps_ > o_.max_steps) {
            truncated_ = true;
            if (o_.livelock_fails) fail("no end after " + std::to_string(o_.max_steps) + " steps: " + states());
            go_outside();
        }
        // Priority search: at a few steps, chosen before the execution, the running thread gets the lowest priority.
        if (mode_ == mode::priorities)
            for (const std::uint32_t s : change_at_)
                if (s == steps_) priority_[self_->id] = --lowest_priority_;
    }

    void make_ready(logical_thread& t) noexcept {
        t.status = thread_status::ready;
        t.deadline = never;
        runnable_ |= bit(t);
        timed_ &= ~bit(t);
    }

    /// Called when the running thread cannot continue: another thread does, or the same one, if it can again.
    void go_on() noexcept {
        while (runnable_ == 0) {
            if (paused_ != 0 && rounds_ < 2) {
                // No thread can run: waiting loops check again, because they may have read stale values.
                ++rounds_;
                std::uint32_t m = paused_;
                paused_ = nr_paused_ = 0;
                runnable_ = m;
                for (; m != 0; m &= m - 1) thread_at(lowest(m)).status = thread_status::ready;
            } else if (timed_ != 0) {
                rounds_ = 0;
                jump();
            } else if (paused_ != 0 && rounds_ < 8) {
                rounds_ += 1;
                now_ += 1'000'000;
                const unsigned again = rounds_;
                after_mutation_of_nobody();
                rounds_ = again;
            } else if (all_ended()) {
                go_outside();
            } else {
                fail("deadlock: " + states());
            }
        }
        const bool waiting = self_->status == thread_status::paused || (paused_ & bit(*self_)) != 0;
        // After a thread in a waiting loop, the next thread in turn runs; any other choice costs a preemption.
        // Otherwise two loops could keep a third thread from running for ever.
        const std::uint32_t later = self_->id + 1 < 32 ? runnable_ & (~0u << (self_->id + 1)) : 0;
        const unsigned first = lowest(later != 0 ? later : runnable_);
        unsigned next = first;
        if (!choosing_) {
            resume(first);
            return;
        }
        if (!waiting || preemptions_left_ != 0) next = pick(first, runnable_ & ~(1u << first), false);
        if (waiting && next != first) --preemptions_left_;
        resume(next);
    }

    void after_mutation_of_nobody() noexcept {
        runnable_ |= paused_;
        for (std::uint32_t m = paused_; m != 0; m &= m - 1) thread_at(lowest(m)).status = thread_status::ready;
        paused_ = nr_paused_ = 0;
    }

    void resume(unsigned id) noexcept {
        logical_thread& t = thread_at(id);
        if (&t != self_) go_to(t);
    }

    void jump() noexcept {
        std::int64_t first = never;
        for (std::uint32_t m = timed_; m != 0; m &= m - 1) first = std::min(first, thread_at(lowest(m)).deadline);
        now_ = std::max(now_, first);
        trace("(the clock jumps to %lld)", static_cast<long long>(now_ - start_of_time));
        expire();
    }

    void expire() noexcept {
        for (std::uint32_t m = timed_; m != 0; m &= m - 1) {
            logical_thread& t = thread_at(lowest(m));
            if (t.deadline > now_) continue;
            t.timed_out = true;
            make_ready(t);
        }
    }

    [[nodiscard]] bool all_ended() const noexcept {
        for (unsigned i = 0; i < nr_threads_; ++i)
            if (threads_[i]->status != thread_status::finished) return false;
        return true;
    }

    // ---- executions -----------------------------------------------------------------------------------------------

    /// Runs one execution. False: it has failed, and the search ends.
    bool run_once(unsigned preemptions, unsigned stale) {
        bounds_preemptions_ = preemptions_left_ = preemptions;
        bounds_stale_ = stale_left_ = stale;
        jumps_left_ = o_.time_jumps;
        stalls_left_ = o_.stalls;
        history_ = std::clamp(o_.history, 1u, max_history);
        position_ = 0;
        runnable_ = paused_ = timed_ = 0;
        rounds_ = 0;
        steps_ = 0;
        failed_ = truncated_ = false;
        execute(body_);
        ++r_.executions;
        r_.truncated += truncated_ && !failed_;
        longest_ = std::max(longest_, steps_);
        if (!failed_) return true;
        r_.failed = true;
        r_.message = why_;
        r_.schedule = schedule();
        return false;
    }

    void exhaust() {
        mode_ = mode::depth_first;
        const unsigned levels = std::max(o_.preemptions, o_.stale_reads);
        // The random part, if there is one, gets a quarter of the bound.
        const double share = o_.random_executions != 0 ? 0.75 : 1;
        for (unsigned level = 0; level <= levels; ++level) {
            path_.clear();
            do {
                if (!run_once(std::min(level, o_.preemptions), std::min(level, o_.stale_reads))) return;
                if (is_over(share)) {
                    stopped_ = true;
                    return;
                }
            } while (next_path());
        }
        r_.exhausted = r_.truncated == 0;
    }

    /// Depth first: changes the last choice that has an alternative left. False: there is none.
    bool next_path() {
        path_.resize(position_);
        while (!path_.empty() && path_.back().taken + 1 >= path_.back().of) path_.pop_back();
        if (path_.empty()) return false;
        ++path_.back().taken;
        return true;
    }

    void wander() {
        for (std::uint64_t i = 0; i < o_.random_executions; ++i) {
            random_ = generator(o_.seed * 0x2545f4914f6cdd1d + i);
            mode_ = i % 2 == 0 ? mode::walk : mode::priorities;
            stay_ = 1u << (1 + random_() % 5);
            for (auto& p : priority_) p = static_cast<int>(random_() % 1'000'000) + 1;
            lowest_priority_ = 0;
            for (auto& s : change_at_) s = 1 + static_cast<std::uint32_t>(random_() % std::max(longest_, 1u));
            path_.clear();
            const bool good = run_once(unbounded, 8);
            ++r_.random_executions;
            if (!good) return;
            if (is_over(1)) {
                stopped_ = true;
                return;
            }
        }
    }

    /// Whether this share of the bound is used up.
    [[nodiscard]] bool is_over(double share) const {
        if (o_.seconds == 0) return static_cast<double>(all_steps_) > share * static_cast<double>(o_.steps);
        return r_.executions % 64 == 0 && spent() > share * o_.seconds;
    }

    [[nodiscard]] double spent() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    // ---- schedule strings: name@bounds/choices, with z13 for thirteen zeros -----------------------------------------

    [[nodiscard]] std::string schedule() const {
        std::string s = o_.name + "@p" + std::to_string(bounds_preemptions_) + "s" + std::to_string(bounds_stale_) +
                        "h" + std::to_string(history_) + "j" + std::to_string(o_.time_jumps) + "w" +
                        (o_.spurious_failures ? "1/" : "0/");
        for (std::size_t i = 0; i < position_ && i < path_.size();) {
            std::size_t zeros = 0;
            while (i + zeros < position_ && path_[i + zeros].taken == 0) ++zeros;
            if (zeros > 0) {
                s += "z" + std::to_string(zeros) + ".";
                i += zeros;
            } else {
                s += std::to_string(path_[i++].taken) + ".";
            }
        }
        return s;
    }

    void replay() {
        mode_ = mode::replay;
        tracing_ = true;
        unsigned p = 0, s = 0, h = 0, j = 0, w = 0;
        const std::size_t at = o_.replay.find('@'), slash = o_.replay.find('/');
        if (at == std::string::npos || slash == std::string::npos ||
            std::sscanf(o_.replay.c_str() + at, "@p%us%uh%uj%uw%u/", &p, &s, &h, &j, &w) != 5) {
            r_.failed = true;
            r_.message = "this is no schedule: " + o_.replay;
            return;
        }
        o_.history = h;
        o_.time_jumps = j;
        o_.spurious_failures = w != 0;
        const char* c = o_.replay.c_str() + slash + 1;
        while (*c != 0) {
            char* end = nullptr;
            const bool zeros = *c == 'z';
            const unsigned long n = std::strtoul(zeros ? c + 1 : c, &end, 10);
            if (zeros) path_.insert(path_.end(), n, {0, 0});
            else path_.push_back({static_cast<unsigned char>(n), 0});
            if (*end != '.') break;
            c = end + 1;
        }
        run_once(p, s);
        r_.trace = trace_;
    }

    void report() const {
        if (!o_.replay.empty())
            for (const std::string& line : r_.trace) std::fprintf(stderr, "%s\n", line.c_str());
        if (r_.failed) {
            std::fprintf(stderr,
                         "cmwq model: %s: execution %llu failed: %s\n"
                         "%s%s%s",
                         o_.name.c_str(), static_cast<unsigned long long>(r_.executions), r_.message.c_str(),
                         r_.schedule.empty() ? "" : "  replay with a trace: CMWQ_MODEL_REPLAY='", r_.schedule.c_str(),
                         r_.schedule.empty() ? "" : "'\n");
            return;
        }
        std::fprintf(
            stderr,
            "cmwq model: %s: %llu executions, %llu of them random (seed %llu), up to %u steps, %llu in all, %.2f s; "
            "%u preemptions and %u stale reads %s%s",
            o_.name.c_str(), static_cast<unsigned long long>(r_.executions),
            static_cast<unsigned long long>(r_.random_executions), static_cast<unsigned long long>(o_.seed), longest_,
            static_cast<unsigned long long>(all_steps_), r_.seconds, o_.preemptions, o_.stale_reads,
            r_.exhausted ? "exhausted" : "NOT exhausted",
            stopped_ ? (o_.seconds == 0 ? ", out of steps" : ", out of time") : "");
        if (r_.truncated != 0) std::fprintf(stderr, ", %llu truncated", static_cast<unsigned long long>(r_.truncated));
        std::fprintf(stderr, "\n");
    }

    options o_;
    std::function<void()> body_;
    result r_;
    std::chrono::steady_clock::time_point began_;
    std::uint64_t all_steps_ = 0;
    bool stopped_ = false; ///< by the bound

    // State of the search.
    mode mode_ = mode::depth_first;
    std::vector<choice> path_;
    std::size_t position_ = 0;
    generator random_;
    unsigned stay_ = 2;
    std::array<int, max_threads> priority_{};
    int lowest_priority_ = 0;
    std::array<std::uint32_t, 3> change_at_{};
    std::uint32_t longest_ = 0;

    // State of the current execution: sets of threads, and the rest of the bounds.
    std::uint32_t runnable_ = 0, paused_ = 0, timed_ = 0;
    unsigned bounds_preemptions_ = 0, bounds_stale_ = 0;
    unsigned preemptions_left_ = 0, stale_left_ = 0, jumps_left_ = 0, stalls_left_ = 0;
    unsigned rounds_ = 0;
    std::uint32_t steps_ = 0;
    bool failed_ = false, truncated_ = false;
    std::string why_;
};

/// Searches the executions of `body`. The body is called once for each execution, and must be deterministic: it uses no
/// real time and no random numbers, and leaves nothing in globals.
inline result explore(options o, std::function<void()> body) {
    return explorer(std::move(o), std::move(body)).explore();
}

}}} // namespace cmwq::CMWQ_NS::detail::model
