// exits: 0
// says: every child could go on
// proves: life-15
// A fork() while another thread uses the library for the first time, at each of its first allocations in turn. The
// child must find no unfinished object, no lock that is held, and no object that a missing thread was making.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

thread_local int allocations_left = -1; // of this thread, before it stops in an allocation; negative: it does not stop
std::atomic<bool> stopped{false};
std::binary_semaphore at_rest{0}, may_go_on{0}; // at_rest: the thread has stopped or finished

} // namespace

#include "../support/replaced_new.hpp"

bool cmwq_test::allocation_fails() noexcept {
    if (allocations_left >= 0 && allocations_left-- == 0) {
        stopped.store(true);
        at_rest.release();
        may_go_on.acquire();
    }
    return false;
}

namespace {

void use() {
    std::atomic<int> runs{0};
    cmwq::work item{[&] { ++runs; }};
    cmwq::system_long_wq().queue(item);
    cmwq::system_unbound_wq();
    item.flush();
    if (runs != 1) std::_Exit(3);
}

int status_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) != child) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

constexpr int child_went_on = 7, never_stopped = 8;

// Call it in a process that has not used the library yet. Returns the status of the child, or never_stopped.
int fork_at_allocation(int n) {
    std::binary_semaphore forked{0};
    std::thread first([&] {
        allocations_left = n;
        use();
        allocations_left = -1;
        at_rest.release();
    });
    at_rest.acquire();
    // Some allocations are made under a lock for which fork() waits: then the stopped thread continues after 100 ms.
    std::thread opener([&] {
        static_cast<void>(forked.try_acquire_for(100ms));
        may_go_on.release();
    });
    const bool has_stopped = stopped;
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120); // ends a child that hangs
        use();
        ::_exit(child_went_on);
    }
    const int status = status_of(child);
    forked.release();
    opener.join();
    first.join();
    return has_stopped ? status : never_stopped;
}

} // namespace

int main() {
    int n = 0;
    for (;; n += n < 16 ? 1 : n / 16) { // the first allocations belong to objects that are made once
        const pid_t child = ::fork();
        if (child == 0) ::_exit(fork_at_allocation(n));
        const int status = status_of(child);
        if (status == never_stopped) break;
        if (status != child_went_on) {
            std::printf("the child of a fork() at allocation %d could not go on (%d)\n", n, status);
            return 1;
        }
    }
    std::puts(n > 16 ? "every child could go on" : "no allocation to stop at");
}
