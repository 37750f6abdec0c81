// SPDX-License-Identifier: BSL-1.0
//
// fork() of a program with threads, also under AddressSanitizer.
#pragma once

#include "eventually.hpp"
#include "gate.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/syscall.h>
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

} // namespace cmwq_test

#if defined(__SANITIZE_ADDRESS__)
// LeakSanitizer calls this at exit. In a child it does not search the stacks of the parent's threads, so it would
// report memory that only these refer to.
extern "C" [[gnu::used]] inline int __lsan_is_turned_off() { return cmwq_test::is_forked ? 1 : 0; }
#endif
