// The functions that the plugin exports, and the code with which the programs load it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

/// Runs as many items of every policy as the argument says, and returns the number of runs.
using run_items = int (*)(int);

#if defined(CMWQ_TEST_PLUGIN)

inline void* load() {
    void* const handle = ::dlopen(CMWQ_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::printf("%s\n", ::dlerror());
        std::exit(1);
    }
    return handle;
}

inline int call(void* handle, const char* function, int n) {
    return reinterpret_cast<run_items>(::dlsym(handle, function))(n);
}

inline bool is_mapped() {
    std::ifstream maps("/proc/self/maps");
    const std::string name = std::filesystem::path(CMWQ_TEST_PLUGIN).filename();
    for (std::string line; std::getline(maps, line);) {
        if (line.find(name) != std::string::npos) return true;
    }
    return false;
}

/// Whether fork() and its handlers work and the child can continue.
inline bool can_fork() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(7);
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

#endif
