// SPDX-License-Identifier: BSL-1.0
//
// The state and the times of another thread. Read from /proc, by descriptors that stay open while the thread lives, or
// that are opened for each read.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/os/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The thread itself calls open_own() and close_own(). Any thread may call the const members at any time, also after
/// the thread has ended (then it is not blocked). If /proc is not mounted, blocked() compares the CPU time instead.
class thread_state {
public:
    thread_state() noexcept = default;
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;
    ~thread_state() {
        if (use_.load(relaxed) != use::none) close_files();
    }

    static constexpr int nr_descriptors = 2; ///< the number of descriptors of a thread that keeps them open

    /// The thread itself calls this first. Returns whether it keeps the files open until `close_own()`.
    bool open_own(state_files files) noexcept {
        const long tid = ::syscall(SYS_gettid);
        tid_.store(tid, release); // [ALONE]
        // Not none: a reader still uses the descriptors of the previous thread of this record, and will close them.
        if (files != state_files::kept || use_.load(acquire) != use::none) return false; // [KEEP-2]
        stat_ = open_file(tid, "stat");
        schedstat_ = open_file(tid, "schedstat");
        if (stat_ < 0 || schedstat_ < 0) {
            close_files();
            return false;
        }
        use_.store(use::kept, release); // [KEEP-1] pairs the reader's acquire
        return true;
    }

    /// The thread itself calls this before it ends. Closes the descriptors, and clears the id, so that a new thread
    /// with the same id is not mistaken for this one. Does not wait: if another thread reads just now, that reader
    /// closes the files.
    void close_own() noexcept {
        tid_.store(0, release); // [ALONE]
        use seen = use_.load(relaxed);
        while (seen == use::kept || seen == use::reading) {
            // [KEEP-1] acquire: the last reader's use of the descriptors happens before they are closed.
            if (!use_.compare_exchange_weak(seen, use::closing, acq_rel, relaxed)) continue;
            if (seen == use::reading) return;
            close_files();
            use_.store(use::none, release); // [KEEP-2]
            return;
        }
    }

    /// For a forked child, where the thread does not exist: closes the descriptors. One that was being opened or closed
    /// at the moment of the fork may stay open.
    void forget_own() noexcept {
        tid_.store(0, relaxed);
        const use seen = use_.load(relaxed);
        if (seen == use::kept || seen == use::reading) close_files();
        use_.store(use::none, relaxed);
    }

    /// True: the thread sleeps in the kernel, in any call. False: it runs, waits for a CPU, or its state is unknown.
    /// Takes about 2 microseconds with an open descriptor, 5 without.
    [[nodiscard]] bool blocked() const noexcept {
        char text[128];
        if (!read_into(text, sizeof text, stat_, "stat")) return stood_still();
        // "TID (name) S ...": the name may contain parentheses, but the state follows the last one.
        const char* close = std::strrchr(text, ')');
        if (close == nullptr || close[1] != ' ') return false;
        return close[2] == 'S' || close[2] == 'D';
    }

    /// Takes about 1 microsecond with an open descriptor, 5 without. False: the kernel does not keep these accounts, or
    /// the file cannot be read.
    [[nodiscard]] bool times(thread_times& out) const noexcept {
        char text[96];
        if (!read_into(text, sizeof text, schedstat_, "schedstat")) return false;
        char* end = nullptr;
        out.cpu = std::strtoll(text, &end, 10);
        out.wait = std::strtoll(end, nullptr, 10);
        return true;
    }

    /// The CPU time of the thread since its start, nanoseconds. Takes about 0.3 microseconds. False: it has ended.
    [[nodiscard]] bool cpu_time(std::int64_t& out) const noexcept {
        const long tid = tid_.load(acquire); // [ALONE]
        if (tid == 0) return false;
        // The clock of another thread: see clock_getcpuclockid(3).
        return read_clock(static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6u), out);
    }

    /// How often the thread has given up its CPU to wait; -1: unknown. Takes some 20 microseconds.
    [[nodiscard]] long nr_waits() const noexcept {
        const int fd = open_file(tid_.load(acquire), "status"); // [ALONE]
        if (fd < 0) return -1;
        // The line is near the end, behind lists that grow with the groups of the user, the CPUs and the nodes.
        constexpr char key[] = "\nvoluntary_ctxt_switches:";
        constexpr std::size_t line_size = 64;
        char text[1024 + line_size];
        std::size_t kept = 0; // the end of what was read before: the line may begin there
        long found = -1;
        for (;;) {
            const ssize_t n = ::read(fd, text + kept, sizeof text - 1 - kept);
            if (n <= 0) break;
            const std::size_t size = kept + static_cast<std::size_t>(n);
            text[size] = 0;
            const char* const line = std::strstr(text, key);
            if (line != nullptr && std::strchr(line + 1, '\n') != nullptr) {
                found = std::strtol(line + sizeof key - 1, nullptr, 10);
                break;
            }
            kept = std::min(size, line_size);
            std::memmove(text, text + size - kept, kept);
        }
        ::close(fd);
        return found;
    }

    /// The system's id of the thread; 0: unknown.
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

    // Whether the thread has used no CPU time since the last call. For programs without free descriptors, and systems
    // without /proc. Also true for a thread that waits for a CPU, so this is only the last resort.
    bool stood_still() const noexcept {
        std::int64_t now = 0;
        return cpu_time(now) && last_cpu_.exchange(now, relaxed) == now;
    }

    // The kernel reads such a file under a mutex of the open file, and the reader may lose its CPU meanwhile: for
    // seconds, if it is an idle-class thread. So a descriptor has only one reader at a time; a second reader opens the
    // file again instead of waiting.
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

    // Which thread uses the descriptors below. none: they are closed. kept: no reader uses them. reading: one reader
    // owns them. closing: that reader, or the thread that ends, closes them.
    enum class use : unsigned char { none, kept, reading, closing };

    atomic<long> tid_{0};
    mutable atomic<use> use_{use::none};
    mutable atomic<std::int64_t> last_cpu_{-1};
    mutable int stat_ = -1;
    mutable int schedstat_ = -1;
};

/// How many descriptors one runtime may keep open: a sixteenth of the current limit of the process, but at most 512.
[[nodiscard]] inline int share_of_descriptors() noexcept {
    constexpr rlim_t most = 512; // the other threads' files are opened for each read
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<int>(std::min(limit.rlim_cur / 16, most));
}

}}} // namespace cmwq::CMWQ_NS::detail::os
