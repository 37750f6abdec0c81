// SPDX-License-Identifier: BSL-1.0
//
// Sockets between processes of one machine. No function waits. A failed call returns its errno, all others 0.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/os/clock.hpp>
#include <cmwq/detail/os/environment.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Owns a file descriptor.
class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~descriptor() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

/// The address of a socket. False: the path is too long.
inline bool address_of(const std::string& path, sockaddr_un& to) noexcept {
    to = {};
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path) return false;
    std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
    return true;
}

inline int connect_to(const std::string& path, descriptor& to) noexcept {
    sockaddr_un a;
    if (!address_of(path, a)) return ENAMETOOLONG;
    to.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!to.is_open()) return errno;
    return ::connect(to.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 ? 0 : errno;
}

/// Whether there is a socket of this path, on which no process listens any more.
inline bool is_abandoned(const std::string& path) noexcept {
    struct stat is{};
    descriptor to;
    return ::lstat(path.c_str(), &is) == 0 && S_ISSOCK(is.st_mode) && connect_to(path, to) == ECONNREFUSED;
}

/// The same for all paths of one file or folder.
struct file_id {
    std::uint64_t device = 0, number = 0;
    bool operator==(const file_id&) const = default;
};
inline int identify(const std::string& path, file_id& to) noexcept {
    struct stat is{};
    if (::stat(path.c_str(), &is) != 0) return errno;
    to = {.device = is.st_dev, .number = is.st_ino};
    return 0;
}

/// Only the user of this process may connect. EADDRINUSE: a process listens there; an abandoned socket is replaced.
/// Throws std::bad_alloc.
inline int listen_at(const std::string& path, descriptor& to) {
    descriptor other;
    if (connect_to(path, other) == 0) return EADDRINUSE;
    const std::string fresh = path + ".new"; // its clients, and remove_abandoned(), never find it without a listener
    ::unlink(fresh.c_str());
    sockaddr_un a;
    if (!address_of(fresh, a)) return ENAMETOOLONG;
    to.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!to.is_open()) return errno;
    if (::fchmod(to.get(), 0600) != 0) return errno; // bind() gives it to the file
    if (::bind(to.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) return errno;
    constexpr int backlog = 64;
    if (::listen(to.get(), backlog) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0) return 0;
    const int error = errno;
    ::unlink(fresh.c_str());
    return error;
}

/// Removes the sockets "NUMBER.NUMBER" in that folder on which no process listens any more. Throws std::bad_alloc.
inline void remove_abandoned(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(folder.c_str()), &::closedir);
    while (all != nullptr) {
        const dirent* const e = ::readdir(all.get()); // NOLINT(concurrency-mt-unsafe): of this thread's own DIR
        if (e == nullptr) return;
        const std::string_view name = e->d_name;
        const std::size_t dot = name.find('.');
        if (dot == 0 || dot == name.npos || dot + 1 == name.size()) continue;
        if (name.find_first_not_of("0123456789") != dot) continue;
        if (name.find_first_not_of("0123456789", dot + 1) != name.npos) continue;
        const std::string path = folder + '/' + std::string(name);
        if (is_abandoned(path)) ::unlink(path.c_str());
    }
}

/// EAGAIN: nobody wants to connect.
inline int accept_from(const descriptor& listener, descriptor& to) noexcept {
    to.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    return to.is_open() ? 0 : errno;
}

/// Whether the process at the other end belongs to the user of this one, or to root.
inline bool peer_is_trusted(const descriptor& of) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(of.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

/// Appends what has come, some kilobytes at most. EAGAIN: nothing; EPIPE: nothing comes any more. Throws
/// std::bad_alloc.
inline int receive(const descriptor& from, std::string& to) {
    char part[4096];
    const ssize_t n = ::recv(from.get(), part, sizeof part, MSG_DONTWAIT);
    if (n > 0) to.append(part, static_cast<std::size_t>(n));
    return n > 0 ? 0 : n == 0 ? EPIPE : errno;
}

/// Sends as much as the other end takes now; removes that from `text`.
inline int send_some(const descriptor& to, std::string_view& text) noexcept {
    const ssize_t n = ::send(to.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
    return 0;
}

/// Wakes a thread in poll(). Any thread may ring it.
class poll_bell {
public:
    int open() noexcept {
        fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        return fd_.is_open() ? 0 : errno;
    }
    void close() noexcept { fd_.reset(); }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    void ring() const noexcept {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(fd_.get(), &one, sizeof one)); // only a full counter refuses it, which rings as well
    }

private:
    descriptor fd_;
};

/// Waits until one of them is ready, or for `ns` nanoseconds. If the system refuses to wait, because the process may
/// have no descriptors, perhaps, that takes a tenth of a second at most; none is ready then.
inline void wait_for_any(std::span<pollfd> of, std::int64_t ns) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    const timespec time{.tv_sec = ns / second, .tv_nsec = ns % second};
    if (::ppoll(of.data(), of.size(), &time, nullptr) >= 0 || errno == EINTR) return;
    sleep_for(std::min<std::int64_t>(ns, second / 10)); // `revents` are still 0
}

/// Whether only this user, and root, can replace files in that folder; then a socket in it is that of its process.
/// EACCES: others can.
inline int check_folder(const std::string& folder) noexcept {
    struct stat is{};
    if (::stat(folder.c_str(), &is) != 0) return errno;
    if (!S_ISDIR(is.st_mode)) return ENOTDIR;
    return (is.st_uid == ::geteuid() || is.st_uid == 0) && (is.st_mode & 022) == 0 ? 0 : EACCES;
}

/// A folder for the sockets of this user, which nobody else can enter; it is made if it is missing. The first one of
/// $XDG_RUNTIME_DIR/cmwq, /run/user/UID/cmwq and /tmp/cmwq-UID whose parent exists, and, but for the last one, belongs
/// to the user. Throws std::bad_alloc.
inline int folder_for_sockets(std::string& folder) {
    const auto is_own = [](const std::string& parent) {
        struct stat is{};
        return ::stat(parent.c_str(), &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == ::geteuid();
    };
    const std::string uid = std::to_string(::geteuid());
    const char* const given = environment_variable("XDG_RUNTIME_DIR");
    const std::string of_user = "/run/user/" + uid;
    if (given != nullptr && *given == '/' && is_own(given)) folder = std::string(given) + "/cmwq";
    else if (is_own(of_user)) folder = of_user + "/cmwq";
    else folder = "/tmp/cmwq-" + uid;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno;
    struct stat is{};
    if (::lstat(folder.c_str(), &is) != 0) return errno;
    if (!S_ISDIR(is.st_mode)) return ENOTDIR;
    return is.st_uid == ::geteuid() && (is.st_mode & 077) == 0 ? 0 : EACCES;
}

}}} // namespace cmwq::CMWQ_NS::detail::os
