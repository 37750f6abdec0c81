// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/thread_activity.hpp>

#include <cmwq/detail/os/thread_activity.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "eventually.hpp"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <unistd.h>

using cmwq_test::eventually;

namespace os = cmwq::detail::os;

TEST_CASE("thread_activity: system calls in which threads wait have names and others have none") {
    const auto name = [](long number) {
        const char* s = os::name_of_system_call(number);
        return std::string(s != nullptr ? s : "");
    };
#define CMWQ_TEST_NAME(call) CHECK(name(SYS_##call) == #call)
    CMWQ_TEST_NAME(read);
    CMWQ_TEST_NAME(write);
    CMWQ_TEST_NAME(pread64);
    CMWQ_TEST_NAME(pwrite64);
    CMWQ_TEST_NAME(readv);
    CMWQ_TEST_NAME(writev);
    CMWQ_TEST_NAME(fsync);
    CMWQ_TEST_NAME(fdatasync);
    CMWQ_TEST_NAME(openat);
    CMWQ_TEST_NAME(futex);
    CMWQ_TEST_NAME(nanosleep);
    CMWQ_TEST_NAME(clock_nanosleep);
    CMWQ_TEST_NAME(ppoll);
    CMWQ_TEST_NAME(pselect6);
    CMWQ_TEST_NAME(epoll_pwait);
    CMWQ_TEST_NAME(accept);
    CMWQ_TEST_NAME(accept4);
    CMWQ_TEST_NAME(connect);
    CMWQ_TEST_NAME(sendto);
    CMWQ_TEST_NAME(sendmsg);
    CMWQ_TEST_NAME(recvfrom);
    CMWQ_TEST_NAME(recvmsg);
    CMWQ_TEST_NAME(wait4);
    CMWQ_TEST_NAME(waitid);
    CMWQ_TEST_NAME(flock);
    CMWQ_TEST_NAME(fcntl);
    CMWQ_TEST_NAME(ioctl);
    CMWQ_TEST_NAME(io_getevents);
    CMWQ_TEST_NAME(rt_sigtimedwait);
#ifdef SYS_poll
    CMWQ_TEST_NAME(poll);
    CMWQ_TEST_NAME(select);
    CMWQ_TEST_NAME(epoll_wait);
    CMWQ_TEST_NAME(open);
    CMWQ_TEST_NAME(pause);
#endif
#undef CMWQ_TEST_NAME
    CHECK(name(SYS_getpid).empty());
    CHECK(name(-1).empty());
}

TEST_CASE("thread_activity: the text differs for a waiting and a running and an ended thread") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::atomic<long> tid{0};
    std::atomic<bool> computes{false}, leave{false};
    std::thread thread([&] {
        tid = ::syscall(SYS_gettid);
        char c = 0;
        static_cast<void>(!::read(ends[0], &c, 1));
        computes = true;
        while (!leave) {}
    });
    REQUIRE(eventually([&] { return tid != 0; }));
    // If the process may not read /proc/self/task/<tid>/syscall, the text only says that the thread waits.
    CHECK(eventually([&] {
        const std::string text = os::describe_activity(tid);
        return text == "waits in read (system call " + std::to_string(SYS_read) + ")" || text == "waits (state S)";
    }));
    REQUIRE(::write(ends[1], "x", 1) == 1);
    REQUIRE(eventually([&] { return computes.load(); }));
    CHECK(eventually([&] { return os::describe_activity(tid) == "runs"; }));
    leave = true;
    thread.join();
    ::close(ends[0]);
    ::close(ends[1]);
    CHECK(eventually([&] { return os::describe_activity(tid) == "in an unknown state"; }));
    CHECK(os::describe_activity(0) == "in an unknown state");
}
