// SPDX-License-Identifier: BSL-1.0
//
// A client of a control socket.
#pragma once

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace cmwq_test {

class control_client {
public:
    /// Throws std::runtime_error if it cannot connect.
    explicit control_client(const std::string& path) {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        std::strncpy(a.sun_path, path.c_str(), sizeof a.sun_path - 1);
        const timeval patience{.tv_sec = 60, .tv_usec = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
            const int error = errno;
            ::close(fd_);
            throw std::runtime_error(path + ": " + std::strerror(error));
        }
    }
    ~control_client() { ::close(fd_); }
    control_client(const control_client&) = delete;
    control_client& operator=(const control_client&) = delete;

    /// False: the other end does not take all of it.
    bool send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    /// The next line, without its end; empty: the other end has closed.
    std::string line() {
        for (;;) {
            if (const std::size_t end = rest_.find('\n'); end != std::string::npos) {
                const std::string text = rest_.substr(0, end);
                rest_.erase(0, end + 1);
                return text;
            }
            char part[4096];
            const ssize_t n = ::recv(fd_, part, sizeof part, 0);
            if (n <= 0) return {};
            rest_.append(part, static_cast<std::size_t>(n));
        }
    }
    /// A member of a request: a text. JSON of C++ values, where each length of a literal is a type, takes the compiler
    /// several times as long.
    struct member {
        std::string name, value;
    };
    nlohmann::json ask(std::initializer_list<member> members) {
        nlohmann::json request;
        for (const member& m : members) request[m.name] = m.value;
        return ask_for(request);
    }
    nlohmann::json ask_for(const nlohmann::json& request) {
        if (!send(request.dump() + '\n')) throw std::runtime_error("the other end has gone");
        return nlohmann::json::parse(line());
    }

private:
    const int fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string rest_;
};

} // namespace cmwq_test
