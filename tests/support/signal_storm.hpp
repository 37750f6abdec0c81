// SPDX-License-Identifier: BSL-1.0
//
// Sends SIGUSR1 to every thread of the program again and again. The handler makes interrupted system calls fail with
// EINTR.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <mutex>
#include <random>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace cmwq_test {

/// The storm lasts as long as this object lives. Only one object may exist at a time.
class signal_storm {
public:
    explicit signal_storm(std::uint64_t seed) {
        struct sigaction action = {};
        action.sa_handler = [](int) {
            ++nr_handled;
            handled_here = true;
        };
        ::sigemptyset(&action.sa_mask); // no SA_RESTART
        ::sigaction(SIGUSR1, &action, &before_);
        thread_ = std::thread([this, seed] { blow(seed); });
    }
    ~signal_storm() {
        {
            const std::lock_guard g(lock_);
            stop_ = true;
        }
        told_.notify_one();
        thread_.join();
        ::sigaction(SIGUSR1, &before_, nullptr);
    }
    signal_storm(const signal_storm&) = delete;
    signal_storm& operator=(const signal_storm&) = delete;

    /// The number of signals of all storms that have been handled so far.
    [[nodiscard]] static std::uint64_t handled() noexcept { return nr_handled; }
    /// Whether the calling thread has handled a signal.
    [[nodiscard]] static bool handled_by_this_thread() noexcept { return handled_here; }

    /// The approximate number of signals that each thread was sent.
    [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }

private:
    void blow(std::uint64_t seed) {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
        std::minstd_rand random(static_cast<unsigned>(seed));
        std::unique_lock lock(lock_);
        while (!stop_) {
            if (DIR* const tasks = ::opendir("/proc/self/task")) {
                while (const dirent* const entry = ::readdir(tasks)) {
                    const auto tid = static_cast<pid_t>(std::atol(entry->d_name));
                    if (tid > 0 && tid != self)
                        ::syscall(SYS_tgkill, ::getpid(), tid, SIGUSR1); // an error does not matter: it may have ended
                }
                ::closedir(tasks);
            }
            ++rounds_;
            told_.wait_for(lock, std::chrono::microseconds{100 + random() % 2000});
        }
    }

    // Lock-free, and initialized before any handler may run, so a handler may use them.
    static inline std::atomic<std::uint64_t> nr_handled{0};
    static inline constinit thread_local volatile bool handled_here = false;

    struct sigaction before_ = {};
    std::atomic<std::uint64_t> rounds_{0};
    std::mutex lock_;
    std::condition_variable told_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace cmwq_test
