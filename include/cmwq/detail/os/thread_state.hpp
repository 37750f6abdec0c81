// SPDX-License-Identifier: BSL-1.0
//
// Is that thread on a CPU? From /proc, through descriptors that stay open for the life of the thread, or opened for each
// look.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <sys/resource.h>
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
        if (use_.load(relaxed) != use::none) close_files();
    }

    static constexpr int nr_descriptors = 2; ///< that a thread keeps, if it does

    /// By the thread itself, first thing. `keep_open`: hold descriptors, which makes asking twice as fast. True: it does,
    /// until `close_own()`.
    bool open_own(bool keep_open) noexcept {
        const long tid = ::syscall(SYS_gettid);
        tid_.store(tid, release); // [ALONE]
        // Not none: who reads of the thread that had this record before has yet to close what that one kept.
        if (!keep_open || use_.load(acquire) != use::none) return false; // [KEEP-2]
        stat_ = open_file(tid, "stat");
        schedstat_ = open_file(tid, "schedstat");
        if (stat_ < 0 || schedstat_ < 0) {
            close_files();
            return false;
        }
        use_.store(use::kept, release); // [KEEP-1] pairs the reader's acquire
        return true;
    }

    /// By the thread itself, before it ends: from here on it keeps nothing, and nobody takes another thread that gets its
    /// number for it. Waits for nobody: who reads just now closes the files.
    void close_own() noexcept {
        tid_.store(0, release); // [ALONE]
        use seen = use_.load(relaxed);
        while (seen == use::kept || seen == use::reading) {
            // [KEEP-1] acquire: what the last reader did comes before the files are closed.
            if (!use_.compare_exchange_weak(seen, use::closing, acq_rel, relaxed)) continue;
            if (seen == use::reading) return;
            close_files();
            use_.store(use::none, release); // [KEEP-2]
            return;
        }
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

    /// About 1 microsecond with an open descriptor, 5 without. False where the kernel does not keep these accounts.
    [[nodiscard]] bool times(thread_times& out) const noexcept {
        char text[96];
        if (!read_into(text, sizeof text, schedstat_, "schedstat")) return false;
        char* end = nullptr;
        out.cpu = std::strtoll(text, &end, 10);
        out.wait = std::strtoll(end, nullptr, 10);
        return true;
    }

    /// Nanoseconds of CPU time since its start; about 0.3 microseconds. False: it has ended.
    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        const long tid = tid_.load(acquire); // [ALONE]
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
        const int fd = open_file(tid_.load(acquire), "status"); // [ALONE]
        const ssize_t n = fd < 0 ? -1 : ::read(fd, text, sizeof text - 1);
        if (fd >= 0) ::close(fd);
        if (n <= 0) return -1;
        text[n] = 0;
        constexpr char key[] = "\nvoluntary_ctxt_switches:";
        const char* const line = std::strstr(text, key);
        return line == nullptr ? -1 : std::strtol(line + sizeof key - 1, nullptr, 10);
    }

    /// 0: nobody knows.
    [[nodiscard]] long tid() const noexcept { return tid_.load(acquire); } // [ALONE]

private:
    static int open_file(long tid, const char* file) noexcept {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%ld/%s", tid, file);
        return ::open(path, O_RDONLY | O_CLOEXEC);
    }

    void close_files() const noexcept {
        for (int* const fd : {&stat_, &schedstat_}) {
            if (*fd >= 0) ::close(*fd);
            *fd = -1;
        }
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
    bool read_into(char* text, std::size_t size, const int& kept, const char* file) const noexcept {
        const long tid = tid_.load(acquire); // [ALONE]
        if (tid == 0) return false;
        use seen = use::kept;
        const bool mine = use_.compare_exchange_strong(seen, use::reading, acquire, relaxed); // [KEEP-1]
        const int fd = mine ? kept : open_file(tid, file);
        const ssize_t n = fd < 0 ? -1 : ::pread(fd, text, size - 1, 0);
        if (!mine) {
            if (fd >= 0) ::close(fd);
        } else if (seen = use::reading; !use_.compare_exchange_strong(seen, use::kept, acq_rel, acquire)) { // [KEEP-1]
            close_files();                  // the thread has ended meanwhile
            use_.store(use::none, release); // [KEEP-2]
        }
        if (n <= 0) return false;
        text[n] = 0;
        return true;
    }

    // Of the descriptors below. kept: nobody reads; reading: one does, and they are that one's; closing: one does, or the
    // thread that has ended closes them.
    enum class use : unsigned char { none, kept, reading, closing };

    atomic<long> tid_{0};
    mutable atomic<use> use_{use::none};
    mutable atomic<std::int64_t> last_cpu_{-1};
    mutable int stat_ = -1;
    mutable int schedstat_ = -1;
};

/// How many descriptors one runtime may keep open: a sixteenth of what the process may have now.
[[nodiscard]] inline int share_of_descriptors() noexcept {
    constexpr rlim_t most = 512; // the others are opened for each look: that is enough of a gain
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<int>(std::min(limit.rlim_cur / 16, most));
}

} // namespace cmwq::inline CMWQ_NS::detail::os
