// SPDX-License-Identifier: BSL-1.0
//
// Is that thread on a CPU? From /proc, through descriptors that stay open for the life of the thread.
#pragma once

#include <cmwq/detail/sync/thread.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq::inline CMWQ_NS::detail::os {

/// Opened by the thread itself, asked by others. Where /proc is not mounted it never reports a blocked thread, and
/// `works()` says so.
class thread_state {
public:
    thread_state() noexcept = default;
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;
    ~thread_state() { close_own(); }

    void open_own() noexcept {
        const long tid = ::syscall(SYS_gettid);
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
        stat_ = ::open(path, O_RDONLY | O_CLOEXEC);
        std::snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", tid);
        schedstat_ = ::open(path, O_RDONLY | O_CLOEXEC);
    }

    void close_own() noexcept {
        if (stat_ >= 0) ::close(stat_);
        if (schedstat_ >= 0) ::close(schedstat_);
        stat_ = schedstat_ = -1;
    }

    [[nodiscard]] bool works() const noexcept { return stat_ >= 0; }

    /// True: the thread sleeps in the kernel, in whatever call. False: it runs, waits for a CPU, or nobody knows.
    /// About 2 microseconds.
    [[nodiscard]] bool blocked() const noexcept {
        char text[128];
        const ssize_t n = stat_ < 0 ? -1 : ::pread(stat_, text, sizeof text - 1, 0);
        if (n <= 0) return false;
        text[n] = 0;
        // "TID (name) S ...": the name may hold anything, parentheses too, but it is short and the state follows it.
        const char* close = std::strrchr(text, ')');
        if (close == nullptr || close[1] != ' ') return false;
        const char state = close[2];
        return state == 'S' || state == 'D';
    }

    /// About 1 microsecond. False where the kernel does not account it.
    [[nodiscard]] bool times(thread_times& out) const noexcept {
        char text[96];
        const ssize_t n = schedstat_ < 0 ? -1 : ::pread(schedstat_, text, sizeof text - 1, 0);
        if (n <= 0) return false;
        text[n] = 0;
        char* end = nullptr;
        out.cpu = std::strtoll(text, &end, 10);
        out.wait = std::strtoll(end, nullptr, 10);
        return true;
    }

private:
    int stat_ = -1;
    int schedstat_ = -1;
};

} // namespace cmwq::inline CMWQ_NS::detail::os
