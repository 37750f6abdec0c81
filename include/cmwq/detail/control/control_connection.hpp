// SPDX-License-Identifier: BSL-1.0
//
// control_connection: what a client has sent, and what it gets, without the socket.
#pragma once

#include <cmwq/detail/control/control_commands.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Lines come in, lines go out, one after the other: while an answer is not sent, nothing is read, so a client that
/// does not read cannot make the process keep more than one answer. Times are of the steady clock, in nanoseconds.
/// Members that are not noexcept throw std::bad_alloc.
class control_connection {
public:
    static constexpr std::size_t longest_request = 65'536;

    explicit control_connection(std::int64_t now) noexcept : moved_at_(now) {}

    /// Whether it takes more input now.
    [[nodiscard]] bool reads() const noexcept { return !has_output() && !has_request() && !ends_; }
    /// Where to append what has come; then call took_input().
    [[nodiscard]] std::string& input() noexcept { return input_; }
    void took_input(std::int64_t now) {
        if (!has_request()) line_ = input_.find('\n', nr_searched_); // only in what has come
        nr_searched_ = input_.size();
        if (!has_request() && input_.size() > longest_request) {
            refuse("a request has at most 65536 bytes", now);
        } else if (has_request()) {
            moved_at_ = now;
        }
    }

    [[nodiscard]] bool has_request() const noexcept { return line_ != std::string::npos; }
    /// If it has one, removes it: without the end of the line.
    [[nodiscard]] std::string take_request() {
        std::string line = input_.substr(0, line_);
        input_.erase(0, line_ + 1);
        line_ = input_.find('\n');
        nr_searched_ = input_.size();
        return line;
    }

    void answer(std::string line, std::int64_t now) noexcept {
        output_ = std::move(line);
        nr_sent_ = 0;
        moved_at_ = now;
    }
    /// The last answer.
    void refuse(std::string_view sentence, std::int64_t now) {
        answer(control_commands::refusal(sentence), now);
        ends_ = true;
    }
    [[nodiscard]] bool has_output() const noexcept { return nr_sent_ != output_.size(); }
    [[nodiscard]] std::string_view output() const noexcept { return std::string_view(output_).substr(nr_sent_); }
    void sent(std::size_t n, std::int64_t now) noexcept {
        nr_sent_ += n;
        if (n != 0) moved_at_ = now;
    }

    /// Whether the last answer has been sent.
    [[nodiscard]] bool is_over() const noexcept { return ends_ && !has_output(); }
    /// When the client is dropped if nothing moves: soon in the middle of a request or an answer, never while it waits
    /// for an answer.
    [[nodiscard]] std::int64_t deadline() const noexcept {
        constexpr std::int64_t second = 1'000'000'000;
        if (!has_output() && has_request()) return INT64_MAX;
        return moved_at_ + (has_output() || !input_.empty() ? 10 : 60) * second;
    }

private:
    std::string input_, output_;
    std::size_t line_ = std::string::npos; // where the first line of the input ends; npos: it does not
    std::size_t nr_searched_ = 0;          // of the input, for ends of lines
    std::size_t nr_sent_ = 0;              // of the output
    std::int64_t moved_at_;                // when a request was complete, or a part of an answer sent
    bool ends_ = false;
};

}}} // namespace cmwq::CMWQ_NS::detail
