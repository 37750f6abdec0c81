// SPDX-License-Identifier: BSL-1.0
//
// POSIX threads behind detail/sync/thread.hpp.
#pragma once

#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/os/thread_priority.hpp>
#include <cmwq/detail/os/thread_state.hpp>

#include <csignal>
#include <initializer_list>
#include <pthread.h>
#include <sys/resource.h>

namespace cmwq::inline CMWQ_NS::detail {

using thread_probe = os::thread_state;

namespace os {

class thread {
public:
    thread() noexcept = default;
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { CMWQ_ASSERT(!joinable_); }

    /// 0, or the errno of pthread_create(). `before(context)`, if there is one, and `body(arg)` run with every signal blocked that is not the thread's own
    /// fault, so that the program's handlers keep running on the program's threads.
    int start(thread_body body, void* arg, thread_body before = nullptr, void* context = nullptr) noexcept {
        body_ = body;
        arg_ = arg;
        before_ = before;
        context_ = context;
        sigset_t all, old;
        ::sigfillset(&all);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&all, own);
        ::pthread_sigmask(SIG_SETMASK, &all, &old);
        const int r = ::pthread_create(&handle_, nullptr, &trampoline, this);
        ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
        joinable_ = r == 0;
        return r;
    }

    void join() noexcept {
        if (joinable_) ::pthread_join(handle_, nullptr);
        joinable_ = false;
    }

    /// Joins it if it is gone, with its thread_local objects. False: not yet. Waits for nothing.
    [[nodiscard]] bool try_join() noexcept {
        if (joinable_ && ::pthread_tryjoin_np(handle_, nullptr) != 0) return false;
        joinable_ = false;
        return true;
    }

    /// Where the system allows it: the thread leaves SCHED_IDLE, so that it is soon gone after it was told to end.
    void leave_idle_class() noexcept {
        const sched_param p{};
        if (joinable_) ::pthread_setschedparam(handle_, SCHED_OTHER, &p);
    }

    /// After fork(), in the child: the thread does not exist here.
    void forget() noexcept { joinable_ = false; }

    [[nodiscard]] bool joinable() const noexcept { return joinable_; }

private:
    static void* trampoline(void* self) {
        auto* t = static_cast<thread*>(self);
        if (t->before_ != nullptr) t->before_(t->context_);
        t->body_(t->arg_);
        return nullptr;
    }

    thread_body body_ = nullptr;
    void* arg_ = nullptr;
    thread_body before_ = nullptr; // null: nothing comes before
    void* context_ = nullptr;
    pthread_t handle_{};
    bool joinable_ = false;
};

} // namespace os

/// Called by a new thread for itself: what it inherited from the one that started it does not count. Attributes that the
/// system refuses are left as they were and reported.
inline thread_refusals apply_to_this_thread(const thread_attributes& a) noexcept {
    thread_refusals refused;
    ::pthread_setname_np(::pthread_self(), a.name);
    if (a.cpus != nullptr) refused.cpus = os::bind_to(*a.cpus);
    refused.sched = os::become(os::policy_of(a.wanted_sched()));
    // A wish that is refused leaves the process's own priority, not that of the thread which happened to start this one.
    if (refused.sched != 0 && a.sched != sched_class::normal) os::become(os::policy_of(a.own.sched));
    refused.nice = os::set_nice(a.wanted_nice());
    if (refused.nice != 0 && a.nice != 0) os::set_nice(a.own.nice);
    return refused;
}

/// For a thread that is in the idle class at times: before it enters it first.
inline void prepare_for_idle_class() noexcept { os::shorten_slice(); }
/// 0, or the errno with which the system refused.
inline int enter_idle_class() noexcept { return os::become(SCHED_IDLE); }
/// The same for another thread of this process. Needs CAP_SYS_NICE, or an RLIMIT_NICE that admits the nice value 0.
inline int leave_idle_class(long tid) noexcept {
    const sched_param p{};
    return ::sched_setscheduler(static_cast<pid_t>(tid), SCHED_OTHER, &p) == 0 ? 0 : errno;
}

/// 0, or the errno with which the system refused.
inline int bind_this_thread(const cpuset& cpus) noexcept { return os::bind_to(cpus); }

/// Another one of this process, by the number that the system gave it.
inline int bind_thread(long tid, const cpuset& cpus) noexcept { return os::bind_to(cpus, tid); }

/// How often the calling thread has given up its CPU because it had to wait for something.
inline long nr_voluntary_switches() noexcept {
    rusage u{};
    ::getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

/// Gives way to every other runnable thread of this CPU. For a SCHED_IDLE thread: until the CPU is idle again, or its
/// sliver of the CPU comes round.
inline void yield_this_thread() noexcept { ::sched_yield(); }

} // namespace cmwq::inline CMWQ_NS::detail
