// SPDX-License-Identifier: BSL-1.0
//
// The functions and classes for the body of a run, in searches and in simulations: requirements, logical threads,
// virtual time, and variables whose data races are detected.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/plain_mutex.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <model/carrier.hpp>

#include <csignal>
#include <cstddef>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The world of the current run; ends the program if there is none. `what` is the caller's name.
inline world& here(const char* what) noexcept {
    world* w = world::current();
    if (w == nullptr) outside_of_a_run(what);
    return *w;
}

/// Ends the run as failed unless `good`.
inline void require(bool good, const char* what) noexcept {
    if (!good) here("require()").fail(std::string("required: ") + what);
}

/// A logical thread that need not be joined: a run ends when all its threads have ended.
class task {
public:
    explicit task(logical_thread& t) noexcept : t_(&t) {}
    void join() noexcept {
        world& w = here("task::join()");
        w.point();
        while (t_->status != thread_status::finished) w.block(thread_status::joining, t_, never);
        if (w.searching()) w.self().clock.join(t_->clock);
    }
    [[nodiscard]] unsigned id() const noexcept { return t_->id; }

private:
    logical_thread* t_;
};

inline task spawn(std::function<void()> body) {
    world& w = here("spawn()");
    w.point();
    logical_thread& t = w.spawn(std::move(body));
    w.mutated();
    w.settle();
    return task(t);
}

/// The new thread begins by applying these attributes to itself.
inline task spawn(const thread_attributes& a, std::function<void()> body) {
    return spawn([a, f = std::move(body)] {
        apply_to_this_thread(a);
        f();
    });
}

/// Virtual nanoseconds since the run began.
[[nodiscard]] inline std::int64_t elapsed() noexcept { return here("elapsed()").now() - start_of_time; }

/// How often another thread has begun to run, since the program began.
[[nodiscard]] inline std::uint64_t nr_switches() noexcept { return here("nr_switches()").nr_switches(); }

/// The number of the calling logical thread; the body's is 0.
[[nodiscard]] inline unsigned self() noexcept { return here("self()").self().id; }

/// Uses the calling thread's CPU for that time.
inline void burn(std::int64_t ns) noexcept { here("burn()").burn(ns); }

/// Blocks the calling thread for that time, as in the kernel.
inline void sleep(std::int64_t ns) noexcept {
    world& w = here("sleep()");
    w.point();
    w.trace("sleeps for %lld ns", static_cast<long long>(ns));
    const std::int64_t until = w.now() + ns;
    while (w.now() < until) w.block(thread_status::asleep, &w.self(), until);
}

/// While this object lives, a search may stop the calling thread for an hour of virtual time, like a thread that gets
/// no CPU: see options::stalls.
class may_stall {
public:
    may_stall() noexcept { here("may_stall").self().may_stall = true; }
    ~may_stall() { here("~may_stall").self().may_stall = false; }
    may_stall(const may_stall&) = delete;
    may_stall& operator=(const may_stall&) = delete;
};

/// Sets the result of current_cpu() in the calling thread, until the thread is bound.
inline void set_current_cpu(unsigned cpu) noexcept { here("set_current_cpu()").self().cpu = cpu; }

/// A name for a sync object in traces and messages of this run.
inline void label(const void* object, const char* name) { here("label()").label(object, name); }

/// While this object lives, a search takes the default of every choice, in all threads: no preemption, no stale read.
/// For the beginning or the end of a body, if that is not the subject of the search, so that no executions are spent on
/// it.
class unsearched {
public:
    unsearched() noexcept { begin(); }
    ~unsearched() { end(); }
    unsearched(const unsearched&) = delete;
    unsearched& operator=(const unsearched&) = delete;

    void begin() noexcept { here("unsearched").choosing(false); }
    void end() noexcept { here("unsearched").choosing(true); }
};

/// A semaphore that the library does not know: a thread that waits for it is blocked in the kernel, without notice to
/// the library.
class semaphore : private carrier {
public:
    explicit semaphore(unsigned count) noexcept : carrier('s'), count_(count) {}

    void acquire() noexcept {
        world& w = here("semaphore::acquire()");
        enter(w);
        while (count_ == 0) w.block(thread_status::asleep, this, never);
        --count_;
        take_clock(w);
    }
    void release() noexcept {
        world& w = here("semaphore::release()");
        enter(w);
        give_clock(w);
        ++count_;
        w.wake_waiters(this);
        w.mutated();
        w.settle();
    }

private:
    unsigned count_;
};

/// A plain variable. In a search, a data race fails the run: two accesses, one of them a write, neither of which
/// happens before the other.
template <class T>
class checked {
public:
    checked() noexcept : checked(T{}) {}
    explicit checked(T v) noexcept : v_(std::move(v)) {
        world* w = world::current();
        if (w != nullptr && w->searching()) w->record(this, mark_, 'v', 0, true);
    }
    ~checked() {
        world* w = world::current();
        if (w != nullptr && w->searching() && mark_.run == w->run()) note_write(*w);
    }
    checked(const checked&) = delete;
    checked& operator=(const checked&) = delete;

    [[nodiscard]] T get() const noexcept {
        world* w = world::current();
        if (w != nullptr && w->searching()) {
            object& o = w->record(this, mark_, 'v', 0, false);
            w->access(o);
            logical_thread& t = w->self();
            if (!t.clock.covers(o.sync)) w->fail("data race: " + w->name_of(o) + " is read beside a write");
            reads(o)[t.id] = t.clock.at[t.id];
            if (w->tracing()) w->trace("%s read", w->name_of(o).c_str());
        }
        return v_;
    }
    void set(T v) noexcept {
        world* w = world::current();
        if (w != nullptr && w->searching()) note_write(*w);
        v_ = std::move(v);
    }
    operator T() const noexcept { return get(); }
    checked& operator=(T v) noexcept {
        set(std::move(v));
        return *this;
    }

private:
    // The times of the writes are in `sync`. Those of the reads are in `history`, which only atomics need.
    static std::array<std::uint32_t, max_threads>& reads(object& o) noexcept {
        if (o.nr_stores == 1) {
            o.nr_stores = 2;
            o.history[1].seen.fill(0);
        }
        return o.history[1].seen;
    }
    void note_write(world& w) noexcept {
        object& o = w.record(this, mark_, 'v', 0, false);
        w.access(o);
        logical_thread& t = w.self();
        if (!t.clock.covers(o.sync)) w.fail("data race: " + w.name_of(o) + " is written beside a write");
        const auto& r = reads(o);
        for (unsigned i = 0; i < max_threads; ++i)
            if (r[i] > t.clock.at[i]) w.fail("data race: " + w.name_of(o) + " is written beside a read");
        o.sync.at[t.id] = t.clock.at[t.id];
        if (w.tracing()) w.trace("%s written", w.name_of(o).c_str());
    }

    T v_;
    mutable mark mark_;
};

/// While this object lives, abort() in a logical thread (an assertion, std::terminate) fails the run, and a crash
/// prints `where` before the old signal handler runs.
class crash_guard {
public:
    explicit crash_guard(std::function<std::string()> where) {
        where_of() = std::move(where);
        for (std::size_t i = 0; i < nr_signals; ++i) {
            struct sigaction a{};
            a.sa_handler = &crash_guard::on_signal;
            a.sa_flags = SA_NODEFER;
            ::sigaction(signals[i], &a, &old_of()[i]);
        }
    }
    ~crash_guard() {
        for (std::size_t i = 0; i < nr_signals; ++i) ::sigaction(signals[i], &old_of()[i], nullptr);
        where_of() = nullptr;
    }
    crash_guard(const crash_guard&) = delete;
    crash_guard& operator=(const crash_guard&) = delete;

private:
    static constexpr std::size_t nr_signals = 5;
    static constexpr int signals[nr_signals] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    static std::array<struct sigaction, nr_signals>& old_of() noexcept {
        static std::array<struct sigaction, nr_signals> old;
        return old;
    }
    static std::function<std::string()>& where_of() {
        static std::function<std::string()> where;
        return where;
    }
    static void on_signal(int number) {
        world* w = world::current();
        if (w != nullptr && number == SIGABRT) w->fail("abort() was called (failed assertion, std::terminate)");
        if (w != nullptr) std::fprintf(stderr, "cmwq model: signal %d in %s\n", number, where_of()().c_str());
        for (std::size_t i = 0; i < nr_signals; ++i) ::sigaction(signals[i], &old_of()[i], nullptr);
        if (number == SIGABRT) std::abort();
        // After the return the same fault occurs again, this time with the old handler.
    }
};

}}} // namespace cmwq::CMWQ_NS::detail::model
