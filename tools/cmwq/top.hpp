// SPDX-License-Identifier: BSL-1.0
//
// cmwq top: the items that run now.
#pragma once

#include "client.hpp"
#include "table.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cmwq_tool {

struct top_options {
    double interval = 2; ///< seconds
    unsigned count = 0;  ///< how often; 0: until the process ends
};

/// The CPU time of threads of a process, in percent of a CPU since the last call.
class cpu_shares {
public:
    explicit cpu_shares(long pid) : pid_(pid) {}

    /// "-": it is not known yet.
    std::string of(long tid) {
        const auto now = std::chrono::steady_clock::now();
        const std::optional<double> used = seconds_of(tid);
        if (!used.has_value()) return "-";
        const auto before = seen_.find(tid);
        std::string text = "-";
        if (before != seen_.end()) {
            const double passed = std::chrono::duration<double>(now - before->second.when).count();
            char number[32];
            std::snprintf(number, sizeof number, "%.1f", 100 * (*used - before->second.used) / std::max(passed, 1e-3));
            text = number;
        }
        seen_[tid] = {now, *used};
        return text;
    }

private:
    struct sample {
        std::chrono::steady_clock::time_point when;
        double used = 0;
    };

    [[nodiscard]] std::optional<double> seconds_of(long tid) const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(tid) + "/stat");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const std::size_t end_of_name = text.rfind(')');
        if (end_of_name == std::string::npos) return {};
        std::istringstream rest(text.substr(end_of_name + 1));
        std::string word;
        for (int i = 0; i < 11; ++i) rest >> word; // from the state to what comes before utime
        double user = 0, system = 0;
        if (!(rest >> user >> system)) return {};
        return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }

    const long pid_;
    std::map<long, sample> seen_;
};

/// The text of a value, also of null and of numbers.
inline std::string text_of(const json& value) {
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

inline std::string top_table(const json& dump, cpu_shares& shares) {
    using enum table::align;
    table t({{"TID", right},
             {"%CPU", right},
             {"POOL", right},
             {"QUEUE", left},
             {"ITEM", left},
             {"FUNCTION", left},
             {"STATE", left},
             {"DESCRIPTION", left}});
    std::size_t workers = 0, idle = 0, pending = 0;
    std::string locked; // pools
    // By share, the largest first, and thread; those of one thread as they are nested.
    std::multimap<std::pair<double, long>, std::vector<std::string>> rows;
    for (const json& p : dump.at("pools")) {
        if (p.at("locked").get<bool>()) {
            add_to_list(locked, text_of(p.at("pool")));
            continue;
        }
        workers += p.value("workers", std::size_t{0}); // bottom halves have none
        idle += p.value("idle", std::size_t{0});
        pending += p.at("pending").at("count").get<std::size_t>();
        for (const json& r : p.at("runs")) {
            const long tid = r.at("tid").get<long>();
            const std::string share = shares.of(tid);
            rows.emplace(std::pair(share == "-" ? 1.0 : -std::stod(share), tid),
                         std::vector{std::to_string(tid), share, text_of(p.at("pool")), text_of(r.at("queue")),
                                     text_of(r.at("item")), text_of(r.at("function")), text_of(r.at("activity")),
                                     text_of(r.at("description"))});
        }
    }
    for (auto& [key, row] : rows) t.add(std::move(row));
    return "workers " + std::to_string(workers) + ", idle " + std::to_string(idle) + "; items running " +
           std::to_string(rows.size()) + ", pending " + std::to_string(pending) + '\n' +
           (locked.empty() ? locked : "missing, because another thread keeps the lock: pool " + locked + '\n') + '\n' +
           t.text();
}

inline void top(client& to, long pid, const std::string& program, const top_options& o) {
    cpu_shares shares(pid);
    const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
    for (unsigned n = 1;; ++n) {
        const json dump = to.ask({{"do", "dump"}, {"format", "json"}}).at("dump");
        const std::string text = program + ", process " + std::to_string(pid) + ": " + top_table(dump, shares);
        std::printf("%s%s", on_terminal ? "\033[H\033[J" : n == 1 ? "" : "\n", text.c_str());
        std::fflush(stdout);
        if (n == o.count) return;
        to.pause(o.interval);
    }
}

} // namespace cmwq_tool
