// SPDX-License-Identifier: BSL-1.0
//
// Other processes that compete for the CPUs.
#pragma once

#include "burn.hpp"

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

/// Child processes that compute for the lifetime of this object. Construct it before any thread is created.
///
/// With a `load` below 1 each of them computes for 50 ms of CPU time and then sleeps: so long that it would use that
/// share of a CPU which it had for itself.
class hogs {
public:
    explicit hogs(unsigned n, double load = 1) {
        for (unsigned i = 0; i < n; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                compute(load);
            }
            if (child > 0) children_.push_back(child);
        }
    }
    ~hogs() {
        for (const pid_t child : children_) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
    }
    /// pause() stops all of them, as Ctrl-Z does; resume() lets them continue.
    void pause() const { tell(SIGSTOP); }
    void resume() const { tell(SIGCONT); }
    hogs(const hogs&) = delete;
    hogs& operator=(const hogs&) = delete;

private:
    [[noreturn]] static void compute(double load) {
        constexpr std::chrono::duration<double, std::milli> chunk{50};
        const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(chunk * ((1 - load) / load));
        for (;;) {
            const auto begin = thread_cpu_time();
            while (thread_cpu_time() - begin < chunk) spin(100'000);
            if (pause.count() > 0) std::this_thread::sleep_for(pause);
        }
    }
    void tell(int signal) const {
        for (const pid_t child : children_) ::kill(child, signal);
    }

    std::vector<pid_t> children_;
};

} // namespace bench
