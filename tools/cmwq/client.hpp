// SPDX-License-Identifier: BSL-1.0
//
// client: asks a process through its control socket. docs/dev/control_protocol.md describes the requests.
#pragma once

#include "failure.hpp"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace cmwq_tool {

using json = nlohmann::ordered_json;

class client {
public:
    /// Throws failure if nobody answers.
    explicit client(const std::string& path) : path_(path) {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (path.size() >= sizeof a.sun_path) throw failure(status::nobody, path + ": the path is too long");
        std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
        const timeval patience{.tv_sec = 30, .tv_usec = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
            const int error = errno;
            ::close(fd_);
            if (error == ECONNREFUSED) throw failure(status::nobody, path + ": the process has ended");
            throw failure(status::nobody, path + ": " + std::strerror(error)); // NOLINT(concurrency-mt-unsafe)
        }
    }
    ~client() { ::close(fd_); }
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Throws failure if the process refuses the request, or does not answer for 30 s.
    json ask(const json& request) {
        std::string_view text = (request_ = request.dump() + '\n');
        while (!text.empty()) {
            const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
            if (n < 0 && errno == EPIPE) break; // perhaps it has said why
            if (n <= 0) give_up();
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        const json answer = json::parse(line(), nullptr, false);
        if (!answer.is_object()) throw failure(status::nobody, path_ + ": the answer is not understood");
        if (answer.contains("error")) throw failure(status::refused, answer.value("error", ""));
        return answer;
    }
    /// Of a request whose answer has only a text.
    std::string text_of(const json& request) { return ask(request).value("text", ""); }

private:
    std::string line() {
        for (;;) {
            if (const std::size_t end = rest_.find('\n'); end != std::string::npos) {
                std::string text = rest_.substr(0, end);
                rest_.erase(0, end + 1);
                return text;
            }
            char part[65'536];
            const ssize_t n = ::recv(fd_, part, sizeof part, 0);
            if (n <= 0) give_up();
            rest_.append(part, static_cast<std::size_t>(n));
        }
    }
    [[noreturn]] void give_up() const { throw failure(status::nobody, path_ + ": the process does not answer"); }

    const std::string path_;
    const int fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string request_, rest_;
};

} // namespace cmwq_tool
