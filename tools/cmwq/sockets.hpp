// SPDX-License-Identifier: BSL-1.0
//
// Finds the control sockets of this machine.
#pragma once

#include "failure.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace cmwq_tool {

/// The socket of a runtime: the file PID.NUMBER.
struct socket_file {
    long pid;
    unsigned long number;
    std::string path;
};

/// Reads all of the text as a number.
template <class T>
bool read_number(std::string_view text, T& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size() && !text.starts_with('-');
}

/// "PID.NUMBER", or "PID" with the number `~0`.
inline bool read_target(std::string_view text, long& pid, unsigned long& number) {
    const std::size_t dot = text.find('.');
    number = ~0ul;
    if (!read_number(text.substr(0, dot), pid)) return false;
    return dot == std::string_view::npos || read_number(text.substr(dot + 1), number);
}

inline bool is_process(std::string_view text) {
    long pid = 0;
    unsigned long number = 0;
    return read_target(text, pid, number);
}

/// The end of a sentence.
inline constexpr const char* no_socket = "no control socket that this user can see; CMWQ=control=1 makes one, if the "
                                         "program contains <cmwq/control.hpp>, see `cmwq --help`";

/// The folders in which programs of this user make their sockets; for root those of all users.
inline std::vector<std::filesystem::path> socket_folders() {
    namespace fs = std::filesystem;
    const uid_t user = ::geteuid();
    std::vector<fs::path> folders;
    if (const char* const given = std::getenv("XDG_RUNTIME_DIR"); given != nullptr && *given == '/') {
        folders.push_back(fs::path(given) / "cmwq");
    }
    std::error_code ignored;
    if (user != 0) {
        folders.push_back("/run/user/" + std::to_string(user) + "/cmwq");
        folders.push_back("/tmp/cmwq-" + std::to_string(user));
    } else {
        for (const auto& e : fs::directory_iterator("/run/user", ignored)) folders.push_back(e.path() / "cmwq");
        for (const auto& e : fs::directory_iterator("/tmp", ignored)) {
            if (e.path().filename().string().starts_with("cmwq-")) folders.push_back(e.path());
        }
    }
    std::ranges::sort(folders);
    folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
    return folders;
}

/// All of them, or those in `folder`, by process and number. Some may belong to processes that were killed.
inline std::vector<socket_file> find_sockets(const std::string& folder) {
    std::vector<std::filesystem::path> folders{folder};
    if (folder.empty()) folders = socket_folders();
    std::vector<socket_file> found;
    std::error_code ignored;
    for (const std::filesystem::path& in : folders) {
        for (const auto& e : std::filesystem::directory_iterator(in, ignored)) {
            socket_file s{.pid = 0, .number = 0, .path = e.path().string()};
            if (!e.is_socket(ignored) || !read_target(e.path().filename().string(), s.pid, s.number)) continue;
            if (s.number != ~0ul) found.push_back(std::move(s));
        }
    }
    std::ranges::sort(found, {}, [](const socket_file& s) { return std::tuple(s.pid, s.number, s.path); });
    return found;
}

/// The socket of a target: PID, if the process has one, or PID.NUMBER.
inline socket_file find_socket(const std::string& target, const std::string& folder) {
    long pid = 0;
    unsigned long number = 0;
    if (!read_target(target, pid, number)) {
        throw failure(status::usage, "'" + target + "' is no process: it is PID, or PID.N as `cmwq list` shows it");
    }
    std::vector<socket_file> found = find_sockets(folder);
    std::erase_if(found, [&](const socket_file& s) { return s.pid != pid || (number != ~0ul && s.number != number); });
    if (found.empty()) {
        throw failure(status::nobody, "process " + target + " has " + no_socket);
    }
    if (found.size() == 1) return found.front();
    std::string all;
    for (const socket_file& s : found) all += ' ' + std::to_string(s.pid) + '.' + std::to_string(s.number);
    throw failure(status::usage, "process " + target + " has several runtimes; say which:" + all);
}

} // namespace cmwq_tool
