// SPDX-License-Identifier: BSL-1.0
//
// The core of the model backend: logical threads, vector clocks, and the world that schedules them. Two worlds exist:
// the explorer (explore.hpp) searches interleavings, the simulator (simulate.hpp) keeps virtual time. The library
// uses both through the operations of base/ and sync/ in overlay/, which call the world at every step.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/thread_slots.hpp>
#include <model/fiber.hpp>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The maximum number of logical threads of a searched execution, including ended ones. A simulation may have any
/// number.
inline constexpr unsigned max_threads = 18;
inline constexpr unsigned max_history = 8;
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
/// The result of steady_now() when a run begins; not 0, because 0 means "not set".
inline constexpr std::int64_t start_of_time = 1'000'000'000;

/// A vector clock: for each thread, the time up to which its steps are known.
struct vclock {
    std::array<std::uint32_t, max_threads> at{};

    void join(const vclock& o) noexcept {
        for (unsigned i = 0; i < max_threads; ++i) at[i] = at[i] < o.at[i] ? o.at[i] : at[i];
    }
    [[nodiscard]] bool covers(const vclock& o) const noexcept {
        bool all = true;
        for (unsigned i = 0; i < max_threads; ++i) all &= o.at[i] <= at[i];
        return all;
    }
};

/// One store to an atomic.
struct store_record {
    std::uint64_t value;
    vclock released;                             ///< the clock that an acquire load of it acquires
    std::array<std::uint32_t, max_threads> seen; ///< when each thread first wrote or read it; all ones: not yet
    std::int64_t at;                             ///< the virtual time
    bool sc;                                     ///< written or read by a seq_cst operation
};

/// The record that a searched execution keeps of an atomic, mutex, parker, semaphore or checked variable. It exists
/// until the end of the execution, so that a use of a destroyed object is detected.
struct object {
    const void* owner;
    char kind; ///< a: atomic, m: mutex, p: parker, v: checked variable, s: semaphore
    bool dead;
    unsigned index;
    unsigned born_by;
    std::uint32_t born_at;
    std::uint32_t nr_stores; ///< of all stores; the last max_history of them are in `history`
    vclock accessed;         ///< the time of the last access by each thread
    vclock sync;             ///< the clock that a mutex or a parker carries; the writes of a checked variable
    std::array<store_record, max_history> history;
};

/// A sync object's reference to its `object`: valid only in the run that wrote it.
struct mark {
    std::uint32_t run = 0;
    std::uint32_t index = 0;
};

/// The scheduling class; a CPU serves higher ones first.
enum class rank : unsigned char { idle, normal, high, fifo };

enum class thread_status : unsigned char { ready, paused, yielding, on_mutex, parked, asleep, joining, finished };

/// A thread of a run: a fiber with its state for the scheduler.
struct logical_thread {
    unsigned id = 0;
    thread_status status = thread_status::ready;
    bool timed_out = false;
    bool fresh = true; ///< it has not made a step yet
    bool may_stall = false;
    unsigned nr_locks = 0; ///< that it holds
    std::int64_t deadline = never;
    const void* waits_for = nullptr;
    std::uint64_t waits_since = 0; ///< order of arrival among those that wait for the same mutex
    vclock clock;
    std::function<void()> body;
    char name[16] = "";
    int bound_to = -1; ///< a CPU, or -1
    rank importance = rank::normal;
    unsigned cpu = 0; ///< the result of current_cpu()
    thread_slots slots;
    std::int64_t cpu_time = 0, wait_time = 0;

    // For the simulator.
    unsigned seat = 0; ///< the index of the CPU whose queue it is in; each unbound thread has its own CPU
    bool burning = false;
    std::int64_t burn_left = 0;
    std::int64_t since = 0;           ///< the time when it began to burn, or to wait for its CPU
    std::uint64_t seen_mutations = 0; ///< the number of mutations when it paused
    std::int64_t looked_at = 0;       ///< the time that `looks` belongs to
    unsigned looks = 0;               ///< how often its waiting loop has checked at that time

    fiber context;

    [[nodiscard]] bool blocked() const noexcept {
        return status == thread_status::on_mutex || status == thread_status::parked ||
               status == thread_status::asleep || status == thread_status::joining;
    }
};

/// The environment of a run: answers that otherwise the operating system gives.
struct surroundings {
    unsigned cpus = 2;
    int refuse_cpu = 0, refuse_sched = 0;          ///< the errnos with which apply_to_this_thread() is refused
    std::function<int(unsigned)> start_error = {}; ///< errno for the n-th thread start (from 0), or 0
    bool probe_works = true;                       ///< false: thread_probe never reports a blocked thread
};

/// The interface of the scheduler to the operations. Used by one OS thread only, so nothing is protected.
class world {
public:
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    virtual ~world() = default;

    /// The world whose logical thread is running; null outside of runs, where sync objects are plain variables.
    [[nodiscard]] static world* current() noexcept { return active_; }

    [[nodiscard]] logical_thread& self() noexcept { return *self_; }
    [[nodiscard]] logical_thread& thread_at(unsigned id) noexcept { return *threads_[id]; }
    [[nodiscard]] std::uint32_t run() const noexcept { return run_; }
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    /// True: atomics have histories and threads have clocks.
    [[nodiscard]] bool searching() const noexcept { return searching_; }
    [[nodiscard]] unsigned history() const noexcept { return history_; }
    [[nodiscard]] bool tracing() const noexcept { return tracing_; }
    /// False: a search takes the default of every choice: see `unsearched`.
    [[nodiscard]] bool choosing() const noexcept { return choosing_; }
    void choosing(bool yes) noexcept { choosing_ = yes; }

    // ---- steps --------------------------------------------------------------------------------------------------

    /// Called before each operation: other threads may run here.
    virtual void point() noexcept = 0;
    /// Called as the last step of an operation that may have woken a thread.
    virtual void settle() noexcept = 0;
    /// Called if the running thread cannot continue. True: the deadline has passed. Wake-ups may be spurious: the
    /// caller checks its condition again.
    virtual bool block(thread_status why, const void* on, std::int64_t deadline) noexcept = 0;
    virtual void wake(logical_thread& t) noexcept = 0;
    /// Wakes the threads that wait for `on`: all of them, or only the first one if the order of arrival matters.
    virtual void wake_waiters(const void* on) noexcept = 0;
    /// Called in a waiting loop: returns after another thread has changed something.
    virtual void pause() noexcept = 0;
    virtual void yield() noexcept = 0;
    virtual void burn(std::int64_t ns) noexcept = 0;
    /// Called after the attributes of the running thread have changed.
    virtual void replaced() noexcept = 0;
    /// Chooses one of the `n` stores that a load may read, counted back from the latest, which is 0.
    virtual unsigned choose_store(unsigned n) noexcept = 0;
    /// Whether a compare_exchange_weak fails although it finds the expected value.
    virtual bool spurious() noexcept = 0;
    [[noreturn]] virtual void fail(const std::string& why) noexcept = 0;

    /// Called after a write, an unlock or a wake-up: waiting loops may check again.
    void mutated() noexcept {
        ++mutations_;
        if (nr_paused_ != 0) after_mutation();
    }

    // ---- threads ------------------------------------------------------------------------------------------------

    [[nodiscard]] int start_error() { return around_.start_error ? around_.start_error(nr_starts_++) : 0; }

    logical_thread& spawn(std::function<void()> body) {
        if (searching_ && nr_threads_ == max_threads) fail("more threads than the model can follow");
        if (nr_threads_ == threads_.size()) threads_.push_back(std::make_unique<logical_thread>());
        logical_thread& t = *threads_[nr_threads_];
        t.id = nr_threads_++;
        t.status = thread_status::asleep;
        t.timed_out = false;
        t.fresh = true;
        t.may_stall = false;
        t.nr_locks = 0;
        t.deadline = never;
        t.waits_for = nullptr;
        t.body = std::move(body);
        t.name[0] = 0;
        t.bound_to = -1;
        t.importance = rank::normal;
        t.cpu = self_ != nullptr ? self_->cpu : 0;
        t.slots = {};
        t.cpu_time = t.wait_time = 0;
        t.burning = false;
        t.burn_left = 0;
        t.looked_at = 0;
        if (searching_) {
            if (self_ != nullptr) {
                ++self_->clock.at[self_->id];
                t.clock = self_->clock;
            } else {
                t.clock = {};
            }
            t.clock.at[t.id] = 1;
        }
        t.context.prepare(&world::enter);
        admit(t);
        return t;
    }

    [[nodiscard]] surroundings& around() noexcept { return around_; }
    [[nodiscard]] std::uint64_t nr_switches() const noexcept { return nr_switches_; }

    // ---- objects ------------------------------------------------------------------------------------------------

    /// The record of a sync object, made at its first use in this run; `value` is its value at that time.
    object& record(const void* owner, mark& m, char kind, std::uint64_t value, bool born_now) noexcept {
        if (m.run == run_ && m.index < nr_objects_ && objects_[m.index].owner == owner && !born_now)
            return objects_[m.index];
        // The first use of an object that this run has not constructed. Freed memory looks the same, and must not be
        // written to.
        if (!born_now)
            for (unsigned i = nr_objects_; i-- > 0;)
                if (objects_[i].owner == owner && objects_[i].dead) return objects_[i];
        if (nr_objects_ == objects_.size()) objects_.emplace_back();
        object& o = objects_[nr_objects_];
        m = {run_, nr_objects_};
        o.owner = owner;
        o.kind = kind;
        o.dead = false;
        o.index = nr_objects_++;
        o.born_by = self_->id;
        o.born_at = born_now ? ++self_->clock.at[self_->id] : 0;
        o.accessed = {};
        o.sync = {};
        o.nr_stores = 1;
        store_record& s = o.history[0];
        s.value = value;
        s.released = {};
        s.seen.fill(~0u);
        // All threads know the initial value of an object that is older than the run.
        s.seen[o.born_by] = o.born_at;
        s.sc = false;
        return o;
    }

    /// Checks and notes an access of the running thread, and increments its clock.
    void access(object& o) noexcept {
        vclock& c = self_->clock;
        const std::uint32_t t = ++c.at[self_->id];
        if (o.dead) fail(name_of(o) + " is used after its destruction");
        if (o.born_at > c.at[o.born_by]) fail(name_of(o) + " is used without having seen its construction");
        o.accessed.at[self_->id] = t;
    }

    void destroyed(const void* owner, const mark& m) noexcept {
        if (!searching_ || m.run != run_ || m.index >= nr_objects_) return;
        object& o = objects_[m.index];
        if (o.owner != owner) return;
        if (o.dead) fail(name_of(o) + " is destroyed twice");
        if (!self_->clock.covers(o.accessed)) fail(name_of(o) + " is destroyed while another thread may be using it");
        o.dead = true;
    }

    /// In one step for each thread, it and the running thread learn what the other one knows.
    void barrier_of_all() noexcept {
        for (unsigned i = 0; i < nr_threads_; ++i) {
            point();
            vclock &own = self_->clock, &its = threads_[i]->clock;
            own.join(its);
            its = own;
        }
    }

    // ---- reports ------------------------------------------------------------------------------------------------

    void label(const void* owner, const char* name) { labels_.emplace_back(owner, name); }

    [[nodiscard]] std::string name_of(const object& o) const {
        std::string s(1, o.kind);
        s += std::to_string(o.index);
        return s + label_of(o.owner);
    }
    [[nodiscard]] std::string label_of(const void* owner) const {
        for (const auto& l : labels_)
            if (l.first == owner) return std::string("(") + l.second + ")";
        return {};
    }

    [[gnu::format(printf, 2, 3)]] void trace(const char* format, ...) {
        if (!tracing_) return;
        char text[200];
        va_list args;
        va_start(args, format);
        std::vsnprintf(text, sizeof text, format, args);
        va_end(args);
        std::string line = "T" + std::to_string(self_ != nullptr ? self_->id : 0);
        if (self_ != nullptr && self_->name[0] != 0) line += std::string(" ") + self_->name;
        if (searching_) {
            trace_.push_back(line + ": " + text);
        } else {
            const auto t = static_cast<long long>(now_ - start_of_time);
            std::fprintf(stderr, "%6lld.%06lld ms %s: %s\n", t / 1'000'000, t % 1'000'000, line.c_str(), text);
        }
    }

protected:
    world() = default;

    virtual void admit(logical_thread& t) noexcept = 0; ///< adds a new thread
    virtual void leave() noexcept = 0;                  ///< called when the running thread has ended; does not return
    virtual void after_mutation() noexcept = 0;

    /// Runs `body` as thread 0, until all threads have ended or the run is aborted.
    void execute(const std::function<void()>& body) {
        run_ = ++last_run_;
        nr_threads_ = nr_objects_ = nr_starts_ = nr_paused_ = 0;
        mutations_ = 0;
        choosing_ = true;
        now_ = start_of_time;
        self_ = nullptr;
        labels_.clear();
        trace_.clear();
        logical_thread& t = spawn(body);
        std::snprintf(t.name, sizeof t.name, "main");
        t.status = thread_status::ready;
        self_ = &t;
        active_ = this;
        fiber::switch_to(outside_, t.context);
        active_ = nullptr;
        self_ = nullptr;
    }

    void go_to(logical_thread& t) noexcept {
        ++nr_switches_;
        logical_thread& from = *self_;
        self_ = &t;
        fiber::switch_to(from.context, t.context);
    }

    /// Ends the run; the stacks of the threads that still exist are dropped.
    [[noreturn]] void go_outside() noexcept {
        fiber::switch_to(self_->context, outside_);
        std::abort();
    }

    [[nodiscard]] static const char* word_for(thread_status s) noexcept {
        switch (s) {
        case thread_status::ready: return "can run";
        case thread_status::paused: return "in a waiting loop";
        case thread_status::yielding: return "yields";
        case thread_status::on_mutex: return "waits for a mutex";
        case thread_status::parked: return "is parked";
        case thread_status::asleep: return "is asleep";
        case thread_status::joining: return "joins another";
        case thread_status::finished: return "has ended";
        }
        return "?";
    }

    [[nodiscard]] std::string states() const {
        std::string s;
        for (unsigned i = 0; i < nr_threads_; ++i) {
            const logical_thread& t = *threads_[i];
            if (t.status == thread_status::finished) continue;
            if (!s.empty()) s += ", ";
            s += "T" + std::to_string(i) + " (" + t.name + ") " + word_for(t.status);
        }
        return s;
    }

    surroundings around_;
    std::vector<std::unique_ptr<logical_thread>> threads_; ///< the first nr_threads_ belong to this run
    std::deque<object> objects_;                           ///< likewise
    std::vector<std::pair<const void*, const char*>> labels_;
    std::vector<std::string> trace_;
    fiber outside_;
    logical_thread* self_ = nullptr;
    std::uint64_t mutations_ = 0;
    std::int64_t now_ = start_of_time;
    std::uint32_t run_ = 0;
    std::uint64_t nr_switches_ = 0;
    unsigned nr_threads_ = 0, nr_objects_ = 0, nr_starts_ = 0;
    unsigned nr_paused_ = 0; ///< not 0: there are threads for after_mutation()
    unsigned history_ = 4;
    bool searching_ = false, tracing_ = false, choosing_ = true;

private:
    static void enter() {
        world& w = *active_;
        logical_thread& t = *w.self_;
        t.context.arrived();
        std::string escaped;
        try {
            t.body();
            t.body = nullptr;
        } catch (const std::exception& e) {
            escaped = std::string("an exception left a thread: ") + e.what();
        } catch (...) {
            escaped = "an exception left a thread";
        }
        if (!escaped.empty()) w.fail(escaped);
        ++t.clock.at[t.id < max_threads ? t.id : 0];
        t.status = thread_status::finished;
        w.mutated();
        w.wake_waiters(&t);
        w.leave();
        std::abort();
    }

    static inline world* active_ = nullptr;
    static inline std::uint32_t last_run_ = 0;
};

/// The number of CPUs of the run's machine.
[[nodiscard]] inline unsigned nr_cpus() noexcept {
    world* w = world::current();
    return w != nullptr ? w->around().cpus : 1;
}

}}} // namespace cmwq::CMWQ_NS::detail::model
