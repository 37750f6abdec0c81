// SPDX-License-Identifier: BSL-1.0
//
// The thread of the counting backend: a thread of the simulated machine.
#pragma once

#include <cmwq/detail/base/thread_types.hpp>
#include <counting/machine.hpp>

#include <cerrno>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// May only be used inside of a run.
class thread {
public:
    thread() noexcept = default;
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { CMWQ_ASSERT(handle_ == nullptr); }

    int start(thread_body body, void* arg, thread_body before = nullptr, void* context = nullptr) noexcept {
        handle_ = counting::start([body, arg, before, context] {
            if (before != nullptr) before(context);
            body(arg);
        });
        return 0;
    }
    void join() noexcept {
        if (handle_ != nullptr) counting::join(*handle_);
        handle_ = nullptr;
    }
    [[nodiscard]] bool try_join() noexcept {
        if (handle_ != nullptr && !counting::has_ended(*handle_)) return false;
        join();
        return true;
    }
    void leave_idle_class() noexcept {
        if (handle_ != nullptr) counting::set_rank(*handle_, counting::rank::normal);
    }
    void forget() noexcept { handle_ = nullptr; }
    [[nodiscard]] bool joinable() const noexcept { return handle_ != nullptr; }

private:
    counting::simulated_thread* handle_ = nullptr;
};

/// The state of a simulated thread. The thread itself calls open_own(); any thread may call the const members.
class thread_probe {
public:
    thread_probe() noexcept = default;
    thread_probe(const thread_probe&) = delete;
    thread_probe& operator=(const thread_probe&) = delete;

    static constexpr int nr_descriptors = 2;

    bool open_own(state_files files) noexcept {
        own_ = counting::self();
        return files == state_files::kept;
    }
    void close_own() noexcept {} // the state of an ended thread can still be read
    void forget_own() noexcept {}

    [[nodiscard]] bool blocked() const noexcept { return own_ != nullptr && counting::is_blocked(*own_); }
    [[nodiscard]] bool times(thread_times& out) const noexcept {
        if (own_ == nullptr) return false;
        counting::times_of(*own_, out.cpu, out.wait);
        return true;
    }
    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        if (own_ == nullptr) return false;
        std::int64_t wait = 0;
        counting::times_of(*own_, out, wait);
        return true;
    }
    [[nodiscard]] static long nr_waits() noexcept { return -1; } // the machine does not count them
    [[nodiscard]] static long tid() noexcept { return 0; }

private:
    counting::simulated_thread* own_ = nullptr;
};

inline int bind_this_thread(const cpuset& cpus) noexcept {
    counting::cpu_mask mask;
    for (unsigned c = cpus.next(0); c < counting::nr_cpus(); c = cpus.next(c + 1)) mask.set(c);
    return counting::bind(mask) ? 0 : EINVAL;
}
inline int bind_thread(long /*tid*/, const cpuset& /*cpus*/) noexcept { return 0; } // no program depends on it

inline thread_refusals apply_to_this_thread(const thread_attributes& a) noexcept {
    thread_refusals refused;
    counting::set_name(a.name);
    if (a.cpus != nullptr) refused.cpus = bind_this_thread(*a.cpus);
    counting::simulated_thread* const self = counting::self();
    if (self != nullptr) {
        counting::set_rank(*self, a.sched == sched_class::fifo   ? counting::rank::fifo
                                  : a.sched == sched_class::idle ? counting::rank::idle
                                  : a.nice < 0                   ? counting::rank::high
                                                                 : counting::rank::normal);
    }
    return refused;
}

inline void prepare_for_idle_class() noexcept {}
inline int enter_idle_class() noexcept { return 0; }
inline int leave_idle_class(long /*tid*/) noexcept { return EPERM; } // as for most users

inline long nr_voluntary_switches() noexcept { return 0; }

inline void yield_this_thread() noexcept { counting::yield(); }

}}} // namespace cmwq::CMWQ_NS::detail
