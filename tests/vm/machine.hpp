// SPDX-License-Identifier: BSL-1.0
//
// The common part of the suites of the virtual machine: its CPUs, control groups, and the CPUs of threads.
#pragma once

#include "eventually.hpp"
#include "nr_tasks.hpp"
#include "pinned.hpp"
#include "this_task.hpp"
#include "threads_named.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace vm {

namespace fs = std::filesystem;
using cmwq::cpuset;

using cmwq_test::eventually;

inline constexpr unsigned nr_cpus = 16; ///< tests/vm/guest.test.cpp checks these numbers
inline const cpuset all_cpus = cpuset::range(0, nr_cpus);
inline const cpuset node_cpus[] = {cpuset::range(0, 8), cpuset::range(8, 16)};

/// The CPUs that share a last-level cache with `cpu`.
inline cpuset cache_of(unsigned cpu) { return cpuset::range(cpu / 4 * 4, cpu / 4 * 4 + 4); }

// --- files -----------------------------------------------------------------------------------------------------------

/// The first line of a file; empty when there is none.
inline std::string line_of(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// Whether the kernel accepted it.
inline bool write_to(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    return out.good();
}

// --- CPUs that go offline and online ---------------------------------------------------------------------------------

inline bool set_online(unsigned cpu, bool on) {
    const fs::path file = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
    // The kernel may refuse for a moment while a CPU changes its state.
    return eventually([&] { return line_of(file) == (on ? "1" : "0") || write_to(file, on ? "1" : "0"); });
}
inline bool go_offline(unsigned cpu) { return set_online(cpu, false); }
inline bool go_online(unsigned cpu) { return set_online(cpu, true); }

/// The options for tests in which items compute, which may take long on a busy host: only a blocked item lets another
/// item start beside it.
inline cmwq::runtime_options computing_items() {
    cmwq::runtime_options o;
    o.cpu_hog_threshold = std::chrono::nanoseconds{0};
    o.overdue_after = std::chrono::nanoseconds{0};
    return o;
}

/// The destructor brings all CPUs online again.
struct cpus_come_back {
    cpus_come_back() = default;
    cpus_come_back(const cpus_come_back&) = delete;
    cpus_come_back& operator=(const cpus_come_back&) = delete;
    ~cpus_come_back() {
        for (unsigned cpu = 1; cpu < nr_cpus; ++cpu) set_online(cpu, true);
    }
};

// --- threads ---------------------------------------------------------------------------------------------------------

/// The CPU of a thread, and the CPUs that the kernel allows it.
struct sighting {
    unsigned cpu = ~0u;
    cpuset mask;
};

using cmwq_test::bind_this_thread;
using cmwq_test::pinned;

inline sighting look() { return {static_cast<unsigned>(::sched_getcpu()), cmwq_test::cpus_of_this_task()}; }

/// Runs an item and returns its sighting. `how` queues the item.
template <class How>
sighting see(How&& how) {
    sighting seen;
    cmwq::work probe{[&] { seen = look(); }};
    if (how(probe) == cmwq::queue_status::queued) probe.flush();
    return seen;
}

inline sighting see_on(cmwq::workqueue_base& q, unsigned cpu) {
    return see([&](cmwq::work_base& w) { return q.queue_on(cpu, w); });
}

/// The item is queued by a thread that is bound to this CPU.
inline sighting see_from(cmwq::workqueue_base& q, unsigned cpu) {
    const pinned here(cpu);
    return see([&](cmwq::work_base& w) { return q.queue(w); });
}

using cmwq_test::nr_tasks;
using cmwq_test::threads_named;

/// Calls `f` in one thread on each of these CPUs.
inline void on_cpus(const cpuset& cpus, const std::function<void(unsigned cpu)>& f) {
    std::vector<std::thread> threads;
    for (const unsigned cpu : cpus) {
        threads.emplace_back([&f, cpu] {
            bind_this_thread({cpu});
            f(cpu);
        });
    }
    for (std::thread& t : threads) t.join();
}

/// The CPU time of the calling thread.
inline std::chrono::nanoseconds cpu_time() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// Uses this amount of CPU time, without a system call that waits.
inline void burn(std::chrono::nanoseconds d) {
    for (const auto end = cpu_time() + d; cpu_time() < end;) {}
}

/// For items that compute until `size` of them do so at the same time, or until the test stops them. Each of them then
/// computes for 2 ms more, so that the test sees if more than `size` run at once.
class crowd {
public:
    explicit crowd(unsigned size) : size_(size) {}
    /// The body of such an item.
    void join() {
        const unsigned here = ++here_;
        unsigned most = most_;
        while (most < here && !most_.compare_exchange_weak(most, here)) {}
        sum_ += here;
        ++nr_joined_;
        if (here >= size_) complete_ = true;
        // Yields, in case another item shares this CPU.
        while (!complete_ && !given_up_) ::sched_yield();
        burn(std::chrono::milliseconds{2});
        --here_;
    }
    void give_up() { given_up_ = true; }
    [[nodiscard]] bool complete() const { return complete_; }
    [[nodiscard]] unsigned here() const { return here_; }
    [[nodiscard]] unsigned most() const { return most_; }
    /// How many were there on average when an item had joined.
    [[nodiscard]] double mean() const { return static_cast<double>(sum_) / nr_joined_; }

private:
    const unsigned size_;
    std::atomic<unsigned> here_{0}, most_{0}, sum_{0}, nr_joined_{0};
    std::atomic<bool> complete_{false}, given_up_{false};
};

// --- failed expectations of threads other than the main thread -------------------------------------------------------

/// Collects failed expectations as text, which is empty if all hold. With a file descriptor it also writes them there
/// at once.
class notes {
public:
    explicit notes(int fd = -1) : fd_(fd) {}
    void add(const std::string& what) {
        const std::lock_guard g(lock_);
        if (++nr_ > 10) return;
        text_ += what + '\n';
        if (fd_ >= 0 && ::write(fd_, (what + '\n').data(), what.size() + 1) < 0) fd_ = -1;
    }
    void expect(bool holds, const std::string& what) {
        if (!holds) add(what);
    }
    void same(const std::string& what, const std::string& got, const std::string& want) {
        if (got != want) add(what + ": '" + got + "' instead of '" + want + "'");
    }
    [[nodiscard]] std::string text() const {
        const std::lock_guard g(lock_);
        return nr_ > 10 ? text_ + std::to_string(nr_) + " altogether\n" : text_;
    }

private:
    mutable std::mutex lock_;
    std::string text_;
    unsigned nr_ = 0;
    int fd_;
};

// --- control groups --------------------------------------------------------------------------------------------------

/// A group below the root. The destructor removes it; all its processes must have ended or left by then.
class cgroup {
public:
    explicit cgroup(const std::string& name) : folder_(root() / name) { fs::create_directory(folder_); }
    cgroup(const cgroup&) = delete;
    cgroup& operator=(const cgroup&) = delete;
    ~cgroup() {
        static_cast<void>(eventually([this] {
            std::error_code ignored;
            return fs::remove(folder_, ignored) || !fs::exists(folder_, ignored);
        }));
    }
    [[nodiscard]] bool set(const char* file, const std::string& value) const { return write_to(folder_ / file, value); }
    [[nodiscard]] std::string get(const char* file) const { return line_of(folder_ / file); }
    /// Moves the calling process with all its threads into the group.
    [[nodiscard]] bool enter() const { return set("cgroup.procs", "0"); }

private:
    static fs::path root() { return "/sys/fs/cgroup"; }
    const fs::path folder_;
};

/// Runs `f` in a forked child and returns its failed expectations. The text also says if the child failed or did not
/// end within 240 s. Call it while this process has no other thread.
inline std::string in_child(const std::function<void(notes&)>& f) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child < 0) return "no child";
    if (child == 0) {
        ::close(ends[0]);
        ::signal(SIGALRM, SIG_DFL);
        ::alarm(240);
        notes n(ends[1]);
        try {
            f(n);
        } catch (const std::exception& e) {
            n.add(std::string("exception: ") + e.what());
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);) {
        if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text += "ended with status " + std::to_string(status) + '\n';
    return text;
}

} // namespace vm
