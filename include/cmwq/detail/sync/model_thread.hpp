// SPDX-License-Identifier: BSL-1.0
//
// The model backend of mutex, parker, clock, this_thread, backoff and thread.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 2

#include <cmwq/detail/sync/model_atomic.hpp>
#include <cmwq/detail/sync/thread_types.hpp>

#include <cerrno>

namespace cmwq::inline CMWQ_NS::detail {

namespace model {

/// What mutex, parker and semaphore share: their state belongs to one run, and carries a clock.
class carrier {
public:
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

protected:
    constexpr explicit carrier(char kind) noexcept : kind_(kind) {
        if (!std::is_constant_evaluated()) {
            world* w = world::current();
            if (w == nullptr) return;
            run_ = w->run();
            if (w->searching()) w->record(this, mark_, kind_, 0, true);
        }
    }
    constexpr ~carrier() {
        if (!std::is_constant_evaluated()) {
            if (world* w = world::current()) w->destroyed(this, mark_);
        }
    }

    /// A step. False: what this object remembers was left behind by an earlier run that was given up.
    bool enter(world& w) noexcept {
        w.point();
        const bool ours = run_ == 0 || run_ == w.run();
        run_ = w.run();
        if (w.searching()) w.access(record(w));
        return ours;
    }
    /// The running thread learns what the givers did.
    void take_clock(world& w) noexcept {
        if (w.searching()) w.self().clock.join(record(w).sync);
    }
    void give_clock(world& w) noexcept {
        if (w.searching()) record(w).sync.join(w.self().clock);
    }
    std::string name(world& w) noexcept {
        return w.searching() ? w.name_of(record(w)) : (kind_ == 'm' ? "mutex" : "parker") + w.label_of(this);
    }

private:
    object& record(world& w) noexcept { return w.record(this, mark_, kind_, 0, false); }

    std::uint32_t run_ = 0;
    mark mark_;
    char kind_;
};

[[noreturn]] inline void outside_of_a_run(const char* what) noexcept {
    std::fprintf(stderr, "cmwq model: %s outside of a run\n", what);
    std::abort();
}

} // namespace model

class CMWQ_TSA(capability("mutex")) mutex : private model::carrier {
public:
    constexpr mutex() noexcept : carrier('m') {}
    constexpr ~mutex() {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && holder_ != 0) w->fail(name(*w) + " is destroyed while held");
        }
    }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept CMWQ_ACQUIRE() {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (holder_ != 0) model::outside_of_a_run("mutex::lock() would block");
            holder_ = ~0u;
            return;
        }
        if (!enter(*w)) holder_ = 0;
        const unsigned me = w->self().id + 1;
        while (holder_ != 0) {
            if (holder_ == me) w->fail(name(*w) + " is locked by the thread that holds it");
            if (w->tracing()) w->trace("%s.lock waits", name(*w).c_str());
            w->block(model::thread_status::on_mutex, this, model::never);
        }
        holder_ = me;
        take_clock(*w);
        if (w->tracing()) w->trace("%s.lock", name(*w).c_str());
    }

    bool try_lock() noexcept CMWQ_TRY_ACQUIRE(true) {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (holder_ != 0) return false;
            holder_ = ~0u;
            return true;
        }
        if (!enter(*w)) holder_ = 0;
        if (w->tracing()) w->trace("%s.try_lock %s", name(*w).c_str(), holder_ != 0 ? "fails" : "succeeds");
        if (holder_ != 0) return false;
        holder_ = w->self().id + 1;
        take_clock(*w);
        return true;
    }

    void unlock() noexcept CMWQ_RELEASE() {
        model::world* w = model::world::current();
        if (w == nullptr) {
            holder_ = 0;
            return;
        }
        if (!enter(*w)) holder_ = 0;
        if (holder_ != w->self().id + 1) w->fail(name(*w) + " is unlocked by a thread that does not hold it");
        if (w->tracing()) w->trace("%s.unlock", name(*w).c_str());
        give_clock(*w);
        holder_ = 0;
        w->wake_waiters(this);
        w->mutated();
        w->settle(); // `this` may be gone from here on
    }

private:
    unsigned holder_ = 0; ///< thread id + 1
};

/// As in detail/sync/parker.hpp.
class parker : private model::carrier {
public:
    constexpr parker() noexcept : carrier('p') {}
    constexpr ~parker() {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && sleeper_ != 0) w->fail(name(*w) + " is destroyed while its owner sleeps");
        }
    }
    parker(const parker&) = delete;
    parker& operator=(const parker&) = delete;

    void park() noexcept { wait(model::never); }

    bool park_until(std::int64_t deadline) noexcept { return wait(deadline); }

    void unpark() noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) {
            permit_ = true;
            return;
        }
        if (!enter(*w)) permit_ = false, sleeper_ = 0;
        if (w->tracing()) w->trace("%s.unpark", name(*w).c_str());
        give_clock(*w);
        permit_ = true;
        if (sleeper_ != 0) w->wake(w->thread_at(sleeper_ - 1));
        w->mutated();
        w->settle(); // the owner may have destroyed this by now
    }

    void remind() noexcept { unpark(); }

private:
    bool wait(std::int64_t deadline) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) {
            if (!permit_) model::outside_of_a_run("parker::park() would block");
            permit_ = false;
            return true;
        }
        if (!enter(*w)) permit_ = false, sleeper_ = 0;
        bool late = false;
        if (!permit_ && deadline > w->now()) {
            if (sleeper_ != 0) w->fail(name(*w) + " is parked on by two threads");
            if (w->tracing()) w->trace("%s.park sleeps", name(*w).c_str());
            sleeper_ = w->self().id + 1;
            while (!permit_ && !late) late = w->block(model::thread_status::parked, this, deadline);
            sleeper_ = 0;
        }
        if (w->tracing()) w->trace("%s.park %s", name(*w).c_str(), permit_ ? "takes the permit" : "timed out");
        if (!permit_) return false;
        permit_ = false;
        take_clock(*w);
        return true;
    }

    bool permit_ = false;
    unsigned sleeper_ = 0; ///< thread id + 1
};

namespace model {

/// The CPUs of the machine that the run takes place on.
[[nodiscard]] inline unsigned nr_cpus() noexcept {
    world* w = world::current();
    return w != nullptr ? w->around().cpus : 1;
}

} // namespace model

/// Virtual time. In a search it moves when nothing else can; in a simulation by burning and sleeping.
inline std::int64_t steady_now() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->now() : model::start_of_time;
}

inline thread_slots& own_thread_slots() noexcept {
    static constinit thread_slots outside;
    model::world* w = model::world::current();
    return w != nullptr ? w->self().slots : outside;
}

inline thread_slots& this_thread_slots() noexcept { return own_thread_slots(); } // there is one copy of the library

/// The CPU that the logical thread is bound to, or was said to be on (model::set_current_cpu).
inline unsigned current_cpu() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->self().cpu : 0;
}

class backoff {
public:
    /// Waits until another thread has changed something, so that going round the loop may help.
    void pause() noexcept {
        if (model::world* w = model::world::current()) w->pause();
    }
};

class thread {
public:
    thread() noexcept = default;
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { CMWQ_ASSERT(handle_ == nullptr); }

    int start(thread_body body, void* arg) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) model::outside_of_a_run("thread::start()");
        w->point();
        if (const int e = w->start_error()) return e;
        handle_ = &w->spawn([body, arg] { body(arg); });
        w->trace("starts T%u", handle_->id);
        w->mutated();
        w->settle();
        return 0;
    }

    void join() noexcept {
        if (handle_ == nullptr) return;
        model::world* w = model::world::current();
        if (w == nullptr) model::outside_of_a_run("thread::join()");
        w->point();
        while (handle_->status != model::thread_status::finished)
            w->block(model::thread_status::joining, handle_, model::never);
        if (w->searching()) w->self().clock.join(handle_->clock);
        w->trace("joined T%u", handle_->id);
        handle_ = nullptr;
    }

    [[nodiscard]] bool try_join() noexcept {
        if (handle_ == nullptr) return true;
        model::world* w = model::world::current();
        if (w == nullptr) model::outside_of_a_run("thread::try_join()");
        w->point();
        if (handle_->status != model::thread_status::finished) return false;
        join();
        return true;
    }

    void leave_idle_class() noexcept {} // a thread ends in any class
    void forget() noexcept { handle_ = nullptr; }

    [[nodiscard]] bool joinable() const noexcept { return handle_ != nullptr; }

private:
    model::logical_thread* handle_ = nullptr;
};

/// Opened by the thread itself, asked by others: the state of a logical thread.
class thread_probe {
public:
    thread_probe() noexcept = default;
    thread_probe(const thread_probe&) = delete;
    thread_probe& operator=(const thread_probe&) = delete;

    static constexpr int nr_descriptors = 2;

    bool open_own(bool keep_open) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || !w->around().probe_works) return false;
        own_ = &w->self();
        return keep_open;
    }
    void close_own() noexcept {} // what is asked of a thread that has ended is answered

    /// Parked, asleep, joining or waiting for a mutex. Tells nothing about memory: nobody synchronises here.
    [[nodiscard]] bool blocked() const noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || own_ == nullptr) return false;
        w->point();
        w->trace("probes T%u: %s", own_->id, own_->blocked() ? "blocked" : "not blocked");
        return own_->blocked();
    }

    [[nodiscard]] bool times(thread_times& out) const noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || own_ == nullptr) return false;
        w->point();
        out = {own_->cpu_time, own_->wait_time};
        if (own_->burning) out.cpu += w->now() - own_->since; // a burn that has not ended counts up to now
        return true;
    }

    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || own_ == nullptr) return false;
        w->point();
        out = own_->cpu_time + (own_->burning ? w->now() - own_->since : 0);
        return true;
    }
    [[nodiscard]] static long nr_waits() noexcept { return -1; } // not kept: what cannot be told slept meanwhile
    [[nodiscard]] static long tid() noexcept { return 0; }

private:
    model::logical_thread* own_ = nullptr;
};

/// A logical thread is bound to one CPU or to none: of several it takes any.
inline int bind_this_thread(const cpuset& cpus) noexcept {
    model::world* w = model::world::current();
    if (w == nullptr) return 0;
    const unsigned first = cpus.next(0);
    if (first >= w->around().cpus) return EINVAL;
    if (const int refused = w->around().refuse_cpu; refused != 0) return refused;
    model::logical_thread& t = w->self();
    t.bound_to = cpus.next(first + 1) < w->around().cpus ? -1 : static_cast<int>(first);
    if (t.bound_to >= 0) t.cpu = first;
    return 0;
}

inline int bind_thread(long /*tid*/, const cpuset& /*cpus*/) noexcept { return 0; } // nobody asks where it may run

inline thread_refusals apply_to_this_thread(const thread_attributes& a) noexcept {
    model::world* w = model::world::current();
    if (w == nullptr) return {};
    model::logical_thread& t = w->self();
    std::copy(std::begin(a.name), std::end(a.name), std::begin(t.name));
    thread_refusals refused;
    if (a.cpus != nullptr) refused.cpus = bind_this_thread(*a.cpus);
    if (a.sched != sched_class::normal) refused.sched = w->around().refuse_sched;
    if (a.nice < 0) refused.nice = w->around().refuse_sched;
    if (a.sched == sched_class::fifo && refused.sched == 0) t.importance = model::rank::fifo;
    else if (a.sched == sched_class::idle && refused.sched == 0) t.importance = model::rank::idle;
    else if (a.nice < 0 && refused.nice == 0) t.importance = model::rank::high;
    else t.importance = model::rank::normal;
    w->replaced();
    return refused;
}

inline void prepare_for_idle_class() noexcept {}
inline int enter_idle_class() noexcept { return 0; }
inline int leave_idle_class(long /*tid*/) noexcept { return EPERM; } // as for most users

inline long nr_voluntary_switches() noexcept { return 0; }

inline void yield_this_thread() noexcept {
    if (model::world* w = model::world::current()) w->yield();
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
