// SPDX-License-Identifier: BSL-1.0
//
// Other processes that compete for the CPUs.
#pragma once

#include "burn.hpp"

#include <csignal>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

/// Child processes that compute for the lifetime of this object. Construct it before any thread is created.
class hogs {
public:
    explicit hogs(unsigned n) {
        for (unsigned i = 0; i < n; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;) spin(1'000'000);
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
    void tell(int signal) const {
        for (const pid_t child : children_) ::kill(child, signal);
    }

    std::vector<pid_t> children_;
};

} // namespace bench
