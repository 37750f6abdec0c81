// SPDX-License-Identifier: BSL-1.0
//
// The present activity of a thread of this process, as text for diagnoses.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The name of a system call in which threads wait, or null.
inline const char* name_of_system_call(long number) noexcept {
    switch (number) {
    case SYS_read: return "read";
    case SYS_write: return "write";
    case SYS_pread64: return "pread64";
    case SYS_pwrite64: return "pwrite64";
    case SYS_readv: return "readv";
    case SYS_writev: return "writev";
    case SYS_fsync: return "fsync";
    case SYS_fdatasync: return "fdatasync";
    case SYS_openat: return "openat";
    case SYS_futex: return "futex";
    case SYS_nanosleep: return "nanosleep";
    case SYS_clock_nanosleep: return "clock_nanosleep";
    case SYS_ppoll: return "ppoll";
    case SYS_pselect6: return "pselect6";
    case SYS_epoll_pwait: return "epoll_pwait";
    case SYS_accept: return "accept";
    case SYS_accept4: return "accept4";
    case SYS_connect: return "connect";
    case SYS_sendto: return "sendto";
    case SYS_sendmsg: return "sendmsg";
    case SYS_recvfrom: return "recvfrom";
    case SYS_recvmsg: return "recvmsg";
    case SYS_wait4: return "wait4";
    case SYS_waitid: return "waitid";
    case SYS_flock: return "flock";
    case SYS_fcntl: return "fcntl";
    case SYS_ioctl: return "ioctl";
    case SYS_io_getevents: return "io_getevents";
    case SYS_rt_sigtimedwait: return "rt_sigtimedwait";
#ifdef SYS_poll // newer architectures have only the general forms
    case SYS_poll: return "poll";
    case SYS_select: return "select";
    case SYS_epoll_wait: return "epoll_wait";
    case SYS_open: return "open";
    case SYS_pause: return "pause";
#endif
    default: return nullptr;
    }
}

/// "runs", "waits in futex (system call 202)", "waits (state D)", or "in an unknown state". Throws std::bad_alloc.
inline std::string describe_activity(long tid) {
    const auto read = [tid](const char* file, char* text, std::size_t size) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%ld/%s", tid, file);
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t n = fd < 0 ? -1 : ::read(fd, text, size - 1);
        if (fd >= 0) ::close(fd);
        text[n > 0 ? n : 0] = 0;
        return n > 0;
    };
    char text[256];
    if (tid == 0 || !read("stat", text, sizeof text)) return "in an unknown state";
    const char* const close = std::strrchr(text, ')'); // the name before it may contain any character
    const char state = close != nullptr && close[1] == ' ' ? close[2] : '?';
    if (state == 'R') return "runs";
    // "NUMBER ARGUMENT...", "running", or "-1 ..." outside of system calls: a page fault.
    if (!read("syscall", text, sizeof text)) return std::string("waits (state ") + state + ")";
    if (text[0] < '0' || text[0] > '9') return text[0] == 'r' ? "runs" : "waits, perhaps for a page";
    const long number = std::strtol(text, nullptr, 10);
    const char* const name = name_of_system_call(number);
    return "waits in " + (name != nullptr ? name + (" (system call " + std::to_string(number) + ")")
                                          : "system call " + std::to_string(number));
}

}}} // namespace cmwq::CMWQ_NS::detail::os
