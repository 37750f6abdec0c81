// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes whole files. The size of those in /proc and /sys is not known before they have been read.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/os/cpu.hpp>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Returns 0, or the errno with which opening or reading failed. `text` gets the part that was read.
inline int read_file(const char* path, std::string& text) {
    text.clear();
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    struct closer {
        int fd;
        ~closer() { ::close(fd); }
    } const guard{fd};
    for (;;) {
        char block[4096];
        const ssize_t n = ::read(fd, block, sizeof block);
        if (n == 0) return 0;
        if (n > 0) text.append(block, static_cast<std::size_t>(n));
        else if (errno != EINTR) return errno;
    }
}

/// Returns 0, or the errno with which writing failed. Removes what has been written from `text`.
inline int write_all(int fd, std::string_view& text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n >= 0) text.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR) return errno;
    }
    return 0;
}

/// A file that is written from its beginning to its end. A failed call returns its errno, all others 0.
class output_file {
public:
    output_file() noexcept = default;
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    ~output_file() {
        if (fd_ >= 0) ::close(fd_); // the lock stays: a forked child shares it with its parent
    }

    /// A former file of this path becomes empty. EBUSY: another object, of any process, writes that file. ENXIO: it is
    /// a pipe that nobody reads. Once.
    int open(const std::string& path) noexcept {
        // The wish not to wait is of use for all but regular files, and stays: the reader of a pipe may stop.
        fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644);
        struct stat is{};
        if (fd_ < 0 || ::fstat(fd_, &is) != 0) return errno;
        if (!S_ISREG(is.st_mode)) return 0; // terminals and the like
        // Some file systems have no locks; then nobody is kept off.
        if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return EBUSY;
        return ::ftruncate(fd_, 0) == 0 ? 0 : errno;
    }
    /// ETIMEDOUT: it is a pipe or the like, and nobody has taken a part for that time, in milliseconds.
    int write(std::string_view text, int patience = 5000) noexcept {
        for (;;) {
            const int error = write_all(fd_, text);
            if (error != EAGAIN) return error;
            pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
            if (::poll(&room, 1, patience) == 0) return ETIMEDOUT;
        }
    }
    /// Some file systems find only now that there is no room.
    int close() noexcept {
        const int fd = std::exchange(fd_, -1);
        if (fd < 0) return 0;
        ::flock(fd, LOCK_UN); // children may have the file open
        return ::close(fd) == 0 ? 0 : errno;
    }

private:
    int fd_ = -1;
};

/// Follows symbolic links, so that the file takes the place of the one to which they lead. Returns 0 if `path` names a
/// regular file, or nothing; otherwise an errno: ENOTSUP if it names a device, a pipe or the like.
inline int path_to_replace(const std::string& path, std::string& to) {
    to = path;
    struct stat is{};
    if (::lstat(path.c_str(), &is) != 0) return errno == ENOENT ? 0 : errno;
    if (S_ISLNK(is.st_mode)) {
        char resolved[PATH_MAX];
        if (::realpath(path.c_str(), resolved) == nullptr || ::stat(resolved, &is) != 0) return errno;
        to = resolved;
    }
    if (S_ISDIR(is.st_mode)) return EISDIR;
    return S_ISREG(is.st_mode) ? 0 : ENOTSUP;
}

/// Writes a file that its readers never see in part: under another name in the same folder, and then it takes the place
/// of `path`, or of the file to which that leads by symbolic links. Several threads may do that at the same time.
/// Returns 0, or the errno of the step that failed; the former file is then still there. ENOTSUP: it is no regular
/// file. Throws std::bad_alloc.
inline int replace_file(const std::string& path, std::string_view text) {
    std::string target;
    if (const int error = path_to_replace(path, target); error != 0) return error;
    // No other thread of the system has this number now.
    const std::string fresh = target + '.' + std::to_string(this_thread_id()) + ".tmp";
    ::unlink(fresh.c_str()); // of a thread that had this number, and whose process was killed
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return errno;
    int error = write_all(fd, text);
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(fresh.c_str(), target.c_str()) != 0) error = errno;
    if (error != 0) ::unlink(fresh.c_str());
    return error;
}

/// Prints that `what` is not in the file, with the reason.
inline void tell_unwritten(const char* what, const std::string& path, int error) noexcept {
    char reason[64];
    std::fprintf(stderr, "cmwq: %s cannot be written to %s: %s\n", what, path.c_str(),
                 ::strerror_r(error, reason, sizeof reason));
}

/// Prints a text to the standard error just before the process ends: gives up when nobody takes it for a second.
inline void print_last_words(std::string_view text) noexcept {
    constexpr std::size_t fits = PIPE_BUF; // into a pipe that is ready
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    while (!text.empty() && ::poll(&ready, 1, 1000) == 1) {
        std::string_view part = text.substr(0, fits);
        const std::size_t size = part.size();
        if (write_all(STDERR_FILENO, part) != 0) return;
        text.remove_prefix(size);
    }
}

/// The path from the root, if the working folder is known. Throws std::bad_alloc.
inline std::string absolute_path(const std::string& path) {
    char folder[PATH_MAX];
    if (path.starts_with('/') || ::getcwd(folder, sizeof folder) == nullptr) return path;
    return std::string(folder) + '/' + path;
}

/// The path with the number of this process in place of each "%p". Throws std::bad_alloc.
inline std::string with_process_number(std::string path) {
    const std::string number = std::to_string(::getpid());
    for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += number.size()) {
        path.replace(at, 2, number);
    }
    return path;
}

}}} // namespace cmwq::CMWQ_NS::detail::os
