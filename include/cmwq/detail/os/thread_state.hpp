// SPDX-License-Identifier: BSL-1.0
//
// Is that thread on a CPU? From /proc, through descriptors that stay open for the life of the thread.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>
#include <cmwq/detail/sync/thread_types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq::inline CMWQ_NS::detail::os {

/// Opened by the thread itself, asked by others at any time, also when the thread has ended ("not blocked"). Where
/// /proc is not mounted no thread is ever reported as blocked.
class thread_state {
public:
    thread_state() noexcept = default;
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;
    ~thread_state() {
        for (const int fd : {stat_.load(relaxed), schedstat_.load(relaxed)}) {
            if (fd >= 0) ::close(fd);
        }
    }

    /// By the thread itself, first thing. `keep_open`: hold descriptors, which makes asking twice as fast; a pool does
    /// that for its first workers only, so that a thousand blocked ones do not eat the program's descriptors.
    void open_own(bool keep_open) noexcept {
        const long tid = ::syscall(SYS_gettid);
        if (keep_open) {
            const bool stat = reopen(stat_, tid, "stat");
            const bool schedstat = reopen(schedstat_, tid, "schedstat");
            kept_.store(stat && schedstat, relaxed);
        }
        tid_.store(tid, release);
    }

    /// True: the thread sleeps in the kernel, in whatever call. False: it runs, waits for a CPU, or nobody knows.
    /// About 2 microseconds with an open descriptor, 5 without.
    [[nodiscard]] bool blocked() const noexcept {
        char text[128];
        if (!read_into(text, sizeof text, stat_, "stat")) return stood_still();
        // "TID (name) S ...": the name may hold anything, parentheses too, but the state follows the last one.
        const char* close = std::strrchr(text, ')');
        if (close == nullptr || close[1] != ' ') return false;
        return close[2] == 'S' || close[2] == 'D';
    }

    /// About 1 microsecond. False without an open descriptor, or where the kernel does not keep these accounts.
    [[nodiscard]] bool times(thread_times& out) const noexcept {
        char text[96];
        if (!kept_.load(acquire) || !read_into(text, sizeof text, schedstat_, "schedstat")) return false;
        char* end = nullptr;
        out.cpu = std::strtoll(text, &end, 10);
        out.wait = std::strtoll(end, nullptr, 10);
        return true;
    }

    /// Nanoseconds of CPU time since its start; about 0.3 microseconds. False: it has ended.
    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        const long tid = tid_.load(acquire);
        if (tid == 0) return false;
        timespec ts{};
        const auto clock =
            static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6u); // see clock_getcpuclockid(3)
        if (::clock_gettime(clock, &ts) != 0) return false;
        out = std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
        return true;
    }

    /// How often it has given up its CPU because it had to wait; -1: nobody knows. Some 20 microseconds.
    [[nodiscard]] long nr_waits() const noexcept {
        char text[2048];
        const int fd = open_file(tid_.load(acquire), "status");
        const ssize_t n = fd < 0 ? -1 : ::read(fd, text, sizeof text - 1);
        if (fd >= 0) ::close(fd);
        if (n <= 0) return -1;
        text[n] = 0;
        constexpr char key[] = "\nvoluntary_ctxt_switches:";
        const char* const line = std::strstr(text, key);
        return line == nullptr ? -1 : std::strtol(line + sizeof key - 1, nullptr, 10);
    }

    /// 0: nobody knows.
    [[nodiscard]] long tid() const noexcept { return tid_.load(acquire); }

private:
    static int open_file(long tid, const char* file) noexcept {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%ld/%s", tid, file);
        return ::open(path, O_RDONLY | O_CLOEXEC);
    }

    // The record of a worker that ended serves another thread later. dup3() swaps the file under the same descriptor,
    // so that whoever reads it at this moment gets one or the other, never a stranger's.
    static bool reopen(atomic<int>& slot, long tid, const char* file) noexcept {
        const int fresh = open_file(tid, file);
        const int old = slot.load(relaxed);
        if (fresh < 0) return false; // what `slot` has is another thread's: not kept
        if (old < 0) {
            slot.store(fresh, release);
            return true;
        }
        ::dup3(fresh, old, O_CLOEXEC);
        ::close(fresh);
        return true;
    }

    // The program has run out of descriptors, or /proc is missing: whether the thread has used its CPU since the last
    // look. A thread that only waits for a CPU looks the same, so this is the last resort.
    bool stood_still() const noexcept {
        std::int64_t now = 0;
        return cpu_time(now) && last_cpu_.exchange(now, relaxed) == now;
    }

    // The kernel reads such a file under a mutex of the open file, and may put the reader to sleep meanwhile: if that is
    // an idle-class thread whose CPU has just found other work, for seconds. So a descriptor has one reader at a time;
    // who comes second opens the file again, and waits for nobody.
    bool read_into(char* text, std::size_t size, const atomic<int>& slot, const char* file) const noexcept {
        const long tid = tid_.load(acquire);
        if (tid == 0) return false;
        const int kept = kept_.load(acquire) && !being_read_.exchange(true, acquire) ? slot.load(acquire) : -1;
        const int fd = kept >= 0 ? kept : open_file(tid, file);
        const ssize_t n = fd < 0 ? -1 : ::pread(fd, text, size - 1, 0);
        if (kept >= 0) being_read_.store(false, release);
        else if (fd >= 0) ::close(fd);
        if (n <= 0) return false;
        text[n] = 0;
        return true;
    }

    atomic<long> tid_{0};
    atomic<bool> kept_{false}; // the descriptors below are this thread's
    mutable atomic<bool> being_read_{false};
    mutable atomic<std::int64_t> last_cpu_{-1};
    atomic<int> stat_{-1};
    atomic<int> schedstat_{-1};
};

} // namespace cmwq::inline CMWQ_NS::detail::os
