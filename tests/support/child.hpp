// SPDX-License-Identifier: BSL-1.0
//
// Runs code that may end its process, or change it permanently, in a child process of the test.
#pragma once

#include "catch.hpp"
#include "fork.hpp"
#include "uninterrupted.hpp"

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace cmwq_test {

/// The wait status of a child, and its output on stderr.
struct outcome {
    int status = 0;
    std::string stderr_text;
    [[nodiscard]] bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
    [[nodiscard]] bool killed_by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
    [[nodiscard]] bool aborted() const { return killed_by(SIGABRT); }
    [[nodiscard]] bool says(const std::string& what) const { return stderr_text.find(what) != std::string::npos; }
};

/// Runs `body` in a child; its return value is the exit status. After `seconds`, SIGALRM ends the child: it hangs.
template <class F>
outcome in_child(F body, unsigned seconds = 120) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = fork_a_child();
    REQUIRE(child >= 0);
    if (child == 0) {
        // The child must not run the handlers of Catch2.
        for (const int sig : {SIGABRT, SIGALRM, SIGSEGV, SIGTERM}) std::signal(sig, SIG_DFL);
        ::alarm(seconds);
        ::dup2(ends[1], 2);
        ::_exit(body());
    }
    ::close(ends[1]);
    outcome o;
    char buffer[256];
    for (ssize_t n; (n = uninterrupted([&] { return ::read(ends[0], buffer, sizeof buffer); })) > 0;)
        o.stderr_text.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    REQUIRE(uninterrupted([&] { return ::waitpid(child, &o.status, 0); }) == child);
    return o;
}

/// The failed expectations of a child: each sets a bit of the exit status, and prints a line on stderr.
class findings {
public:
    void expect(int bit, bool good, const char* what = "") {
        if (good) return;
        wrong_ |= bit;
        static_cast<void>(!::write(2, what, std::char_traits<char>::length(what)));
        static_cast<void>(!::write(2, "\n", 1));
    }
    [[nodiscard]] int wrong() const { return wrong_; }

private:
    int wrong_ = 0;
};

} // namespace cmwq_test
