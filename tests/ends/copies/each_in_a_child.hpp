// SPDX-License-Identifier: BSL-1.0
//
// Runs cases in processes of their own, because they leave a plugin loaded, or end the process.
#pragma once

#include <cstdio>
#include <dlfcn.h>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace copies {

/// Returns an empty string, or what is wrong.
struct named_case {
    const char* name;
    std::string (*run)();
};

/// Prints "all 3 cases: verdict" if all succeed, else what is wrong. `prepare()` returns whether the plugin is loaded.
template <class Prepare>
int each_in_a_child(std::span<const named_case> cases, const char* verdict, Prepare prepare) {
    std::size_t nr_good = 0;
    for (const named_case& c : cases) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(120); // ends a child that hangs
            const std::string wrong = prepare() ? c.run() : ::dlerror();
            if (!wrong.empty()) std::printf("%s: %s\n", c.name, wrong.c_str());
            std::fflush(stdout);
            ::_exit(wrong.empty() ? 0 : 2);
        }
        int status = 0;
        while (::waitpid(child, &status, 0) != child) {}
        if (WIFSIGNALED(status)) std::printf("%s: signal %d\n", c.name, WTERMSIG(status));
        if (status == 0) ++nr_good;
        std::fflush(stdout);
    }
    if (nr_good == cases.size()) std::printf("all %zu cases: %s\n", nr_good, verdict);
    return 0;
}

} // namespace copies
