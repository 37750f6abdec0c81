// SPDX-License-Identifier: BSL-1.0
//
// The thread of the model backend: a logical thread.
#pragma once

#include <cmwq/detail/base/thread_types.hpp>
#include <model/carrier.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// May only be used inside of a run.
class thread {
public:
    thread() noexcept = default;
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { CMWQ_ASSERT(handle_ == nullptr); }

    int start(thread_body body, void* arg, thread_body before = nullptr, void* context = nullptr) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) model::outside_of_a_run("thread::start()");
        w->point();
        if (const int e = w->start_error()) return e;
        handle_ = &w->spawn([body, arg, before, context] {
            if (before != nullptr) before(context);
            body(arg);
        });
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

/// The state of a logical thread. The thread itself calls open_own(); any thread may call the const members.
class thread_probe {
public:
    thread_probe() noexcept = default;
    thread_probe(const thread_probe&) = delete;
    thread_probe& operator=(const thread_probe&) = delete;

    static constexpr int nr_descriptors = 2;

    bool open_own(state_files files) noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || !w->around().probe_works) return false;
        own_ = &w->self();
        return files == state_files::kept;
    }
    void close_own() noexcept {} // the state of an ended thread can still be read
    void forget_own() noexcept {}

    /// Whether the thread is parked, asleep, joining, or waiting for a mutex. Synchronizes nothing.
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
        if (own_->burning) out.cpu += w->now() - own_->since; // the part of an unfinished burn up to now
        return true;
    }

    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        model::world* w = model::world::current();
        if (w == nullptr || own_ == nullptr) return false;
        w->point();
        out = own_->cpu_time + (own_->burning ? w->now() - own_->since : 0);
        return true;
    }
    [[nodiscard]] static long nr_waits() noexcept { return -1; } // unknown: the model does not count them
    [[nodiscard]] static long tid() noexcept { return 0; }

private:
    model::logical_thread* own_ = nullptr;
};

/// A logical thread is bound to one CPU or to none. A set of several CPUs unbinds it.
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

inline int bind_thread(long /*tid*/, const cpuset& /*cpus*/) noexcept { return 0; } // no test depends on it

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

}}} // namespace cmwq::CMWQ_NS::detail
