// SPDX-License-Identifier: BSL-1.0
//
// fork() of a program with threads, also under AddressSanitizer.
#pragma once

#include "eventually.hpp"
#include "gate.hpp"
#include "uninterrupted.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cmwq_test {

/// Whether every other thread of the process sleeps, apart from those in wait_in_item(). Then no thread is in the
/// middle of an operation, because a thread that waits for a lock waits for a thread that runs.
inline bool others_sleep() {
    const std::string self = std::to_string(::syscall(SYS_gettid));
    int awake = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == self) continue;
        std::ifstream file(task.path() / "stat");
        std::string text;
        std::getline(file, text);
        const auto name_ends = text.rfind(')'); // the name may contain anything
        if (name_ends == std::string::npos || text.compare(name_ends, 3, ") S") != 0) ++awake;
    }
    return awake == nr_computing;
}

inline bool is_forked = false;

/// fork(). glibc makes malloc() ready for the child, but AddressSanitizer does not: if another thread is inside of its
/// allocator, as every thread is while it starts, the child waits for that thread forever. So with AddressSanitizer the
/// fork waits until the other threads sleep.
inline pid_t fork_a_child() {
#if defined(__SANITIZE_ADDRESS__)
    // Five times in a row: a thread that has just been woken still looks asleep.
    int quiet = 0;
    static_cast<void>(eventually([&] { return (quiet = others_sleep() ? quiet + 1 : 0) == 5; }));
#endif
    const pid_t child = ::fork();
    if (child == 0) {
        is_forked = true;
        nr_computing = 0; // those threads belong to the parent
    }
    return child;
}

/// Whether the calling thread blocks that signal.
inline bool blocks(int signal) {
    sigset_t now;
    return ::pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && ::sigismember(&now, signal) == 1;
}

/// Forks a child that ends with the result of `f()`, and waits for it. Returns its wait status; -1: there is no child.
template <class F>
int status_of_child(F&& f) {
    const pid_t child = fork_a_child();
    if (child == 0) ::_exit(f());
    int status = -1;
    return uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child ? status : -1;
}

} // namespace cmwq_test

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer calls this at exit. In a child it does not search the stacks of the parent's threads, so it would
// report memory that only these refer to.
extern "C" [[gnu::used]] inline int __lsan_is_turned_off() { return cmwq_test::is_forked ? 1 : 0; }
#endif
