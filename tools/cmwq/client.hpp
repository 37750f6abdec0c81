// SPDX-License-Identifier: BSL-1.0
//
// client: asks a process through its control socket. docs/dev/control_protocol.md describes the requests.
#pragma once

#include "failure.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace cmwq_tool {

using json = nlohmann::ordered_json;

/// The process is there, but says nothing.
class no_answer : public failure {
public:
    explicit no_answer(const std::string& path) : failure(status::nobody, path + ": the process does not answer") {}
};

class client {
public:
    /// A process has `patience` seconds for each answer. Throws failure if nobody answers.
    client(const std::string& path, double patience) : path_(path), patience_(patience) { connect(); }
    ~client() { disconnect(); }
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Without a connection, because a process drops one that has been idle for a minute. The next request makes
    /// another.
    void pause(double seconds) {
        disconnect();
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }

    /// Throws failure if the process refuses the request, or does not answer.
    json ask(const json& request) {
        if (fd_ < 0) connect();
        std::string_view text = (request_ = line_of(request));
        while (!text.empty()) {
            const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
            if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) break; // perhaps it has said why
            if (n <= 0) give_up(n);
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        const json answer = json::parse(line(), nullptr, false);
        if (!answer.is_object()) throw failure(status::refused, path_ + ": the answer is not understood");
        if (answer.contains("error")) throw failure(status::refused, answer.value("error", ""));
        return answer;
    }
    /// Of a request whose answer has only a text.
    std::string text_of(const json& request) { return ask(request).value("text", ""); }

private:
    static std::string line_of(const json& request) {
        try {
            return request.dump() + '\n';
        } catch (const json::type_error&) { // of the user's words
            throw failure(status::usage, "an argument is no UTF-8 text");
        }
    }
    std::string line() {
        for (;;) {
            if (const std::size_t end = rest_.find('\n'); end != std::string::npos) {
                std::string text = rest_.substr(0, end);
                rest_.erase(0, end + 1);
                return text;
            }
            char part[65'536];
            const ssize_t n = ::recv(fd_, part, sizeof part, 0);
            if (n <= 0) give_up(n);
            rest_.append(part, static_cast<std::size_t>(n));
        }
    }
    // `n`: what send() or recv() has returned.
    [[noreturn]] void give_up(ssize_t n) const {
        if (n < 0 && errno == EAGAIN) throw no_answer(path_);
        throw failure(status::nobody, path_ + ": the process has closed the connection");
    }

    void connect() {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (path_.size() >= sizeof a.sun_path) throw failure(status::nobody, path_ + ": the path is too long");
        std::memcpy(a.sun_path, path_.c_str(), path_.size() + 1);
        fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        timeval time{};
        time.tv_sec = static_cast<time_t>(patience_);
        time.tv_usec = static_cast<suseconds_t>((patience_ - std::floor(patience_)) * 1e6);
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return;
        const int error = errno;
        disconnect();
        if (error == EAGAIN) throw no_answer(path_); // it has not accepted those that came before
        if (error == ECONNREFUSED) throw failure(status::nobody, path_ + ": the process has ended");
        throw failure(status::nobody, path_ + ": " + std::strerror(error)); // NOLINT(concurrency-mt-unsafe)
    }
    void disconnect() noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
        rest_.clear();
    }

    const std::string path_;
    const double patience_; // seconds
    int fd_ = -1;           // -1: there is no connection
    std::string request_, rest_;
};

} // namespace cmwq_tool
