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
#include <sched.h>
#include <sys/resource.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using thread_probe = os::thread_state;

namespace os {

/// A POSIX thread. One thread at a time may call the members; the owner joins it before the object is destroyed.
class thread {
public:
    thread() noexcept = default;
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { CMWQ_ASSERT(!joinable_); }

    /// Starts the thread, which calls `before(context)`, unless `before` is null, and then `body(arg)`. Blocks all
    /// signals in it, except those that the thread itself can cause by a fault, so that the program's handlers run on
    /// the program's threads. Returns 0, or the errno of pthread_create().
    int start(thread_body body, void* arg, thread_body before = nullptr, void* context = nullptr) noexcept {
        body_ = body;
        arg_ = arg;
        before_ = before;
        context_ = context;
        sigset_t all, old;
        ::sigfillset(&all);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&all, own);
        ::pthread_sigmask(SIG_SETMASK, &all, &old);
        const int r = create();
        ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
        joinable_ = r == 0;
        return r;
    }

    void join() noexcept {
        if (joinable_) ::pthread_join(handle_, nullptr);
        joinable_ = false;
    }

    /// Joins the thread if it has ended, and its thread_local objects are destroyed. False: not yet. Never waits.
    [[nodiscard]] bool try_join() noexcept {
        if (joinable_ && ::pthread_tryjoin_np(handle_, nullptr) != 0) return false;
        joinable_ = false;
        return true;
    }

    /// Moves the thread from SCHED_IDLE to SCHED_OTHER, if the system allows it, so that it ends soon after a request.
    void leave_idle_class() noexcept {
        const sched_param p{};
        if (joinable_) ::pthread_setschedparam(handle_, SCHED_OTHER, &p);
    }

    /// Called in the child of fork(), where the thread does not exist.
    void forget() noexcept { joinable_ = false; }

    [[nodiscard]] bool joinable() const noexcept { return joinable_; }

private:
    // A new thread has the class and the CPUs of its creator, and needs a CPU to change them. In the idle class, or
    // beside a real-time creator that does not sleep, it would get one late. So it begins in the normal class, with the
    // CPUs of the process, if the system permits that.
    int create() noexcept {
        switch (::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) {
        case SCHED_OTHER:
        case SCHED_BATCH: return ::pthread_create(&handle_, nullptr, &trampoline, this);
        default: break;
        }
        pthread_attr_t a;
        if (const int error = ::pthread_attr_init(&a); error != 0) return error;
        const sched_param p{};
        ::pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
        ::pthread_attr_setschedpolicy(&a, SCHED_OTHER);
        ::pthread_attr_setschedparam(&a, &p);
        kernel_cpus cpus;
        if (cpus.read_of(main_thread_id()) == 0) cpus.give_to(a);
        int r = ::pthread_create(&handle_, &a, &trampoline, this);
        if (r != 0) r = ::pthread_create(&handle_, nullptr, &trampoline, this);
        ::pthread_attr_destroy(&a);
        return r;
    }

    static void* trampoline(void* self) {
        auto* t = static_cast<thread*>(self);
        if (t->before_ != nullptr) t->before_(t->context_);
        t->body_(t->arg_);
        return nullptr;
    }

    thread_body body_ = nullptr;
    void* arg_ = nullptr;
    thread_body before_ = nullptr; // null: none
    void* context_ = nullptr;
    pthread_t handle_{};
    bool joinable_ = false;
};

/// The name of the calling thread, as the system shows it. NUL-terminated.
inline void name_of_this_thread(char (&name)[16]) noexcept {
    if (::pthread_getname_np(::pthread_self(), name, sizeof name) != 0) name[0] = 0;
}

/// Whether a thread of this process has that id.
[[nodiscard]] inline bool thread_exists(long tid) noexcept { return ::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0; }

} // namespace os

/// A new thread calls this for itself, so that it does not keep the attributes of the thread that started it. Returns
/// the attributes that the system has refused, which do not change.
inline thread_refusals apply_to_this_thread(const thread_attributes& a) noexcept {
    thread_refusals refused;
    ::pthread_setname_np(::pthread_self(), a.name);
    if (a.exact_timeouts) os::shorten_timer_slack();
    if (a.cpus != nullptr) refused.cpus = os::bind_to(*a.cpus);
    refused.sched = os::become(os::policy_of(a.wanted_sched()));
    // If a requested priority is refused, the thread gets that of the process, not that of the thread that started it.
    if (refused.sched != 0 && a.sched != sched_class::normal) os::become(os::policy_of(a.own.sched));
    refused.nice = os::set_nice(a.wanted_nice());
    if (refused.nice != 0 && a.nice != 0) os::set_nice(a.own.nice);
    return refused;
}

/// A thread calls this before it enters the idle class for the first time.
inline void prepare_for_idle_class() noexcept { os::shorten_slice(); }
/// For the calling thread. Returns 0, or the errno with which the system refused.
inline int enter_idle_class() noexcept { return os::become(SCHED_IDLE); }
/// Moves another thread of this process from SCHED_IDLE to SCHED_OTHER. Returns 0, or the errno with which the system
/// refused. Needs CAP_SYS_NICE, or an RLIMIT_NICE that allows the nice value 0.
inline int leave_idle_class(long tid) noexcept {
    const sched_param p{};
    return ::sched_setscheduler(static_cast<pid_t>(tid), SCHED_OTHER, &p) == 0 ? 0 : errno;
}

/// Returns 0, or the errno with which the system refused.
inline int bind_this_thread(const cpuset& cpus) noexcept { return os::bind_to(cpus); }

/// As bind_this_thread(), for a thread of this process with that system id.
inline int bind_thread(long tid, const cpuset& cpus) noexcept { return os::bind_to(cpus, tid); }

/// How often the calling thread has given up its CPU to wait.
inline long nr_voluntary_switches() noexcept {
    rusage u{};
    ::getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

/// Lets the other runnable threads of this CPU run. A SCHED_IDLE thread continues when the CPU is idle again, or when
/// it gets its small share of the CPU.
inline void yield_this_thread() noexcept { ::sched_yield(); }

}}} // namespace cmwq::CMWQ_NS::detail
