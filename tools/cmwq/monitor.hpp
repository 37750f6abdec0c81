// SPDX-License-Identifier: BSL-1.0
//
// cmwq monitor: the counters of the queues, like the kernel's wq_monitor.
#pragma once

#include "client.hpp"
#include "table.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fnmatch.h>
#include <string>
#include <vector>

namespace cmwq_tool {

struct monitor_options {
    std::vector<std::string> queues; ///< patterns; empty: all
    double interval = 1;             ///< seconds
    unsigned count = 0;              ///< how often; 0: until the process ends
    bool as_json = false;
};

inline bool is_wanted(const std::string& name, const std::vector<std::string>& patterns) {
    return patterns.empty() ||
           std::ranges::any_of(patterns, [&](const auto& p) { return ::fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

/// A line for each queue.
inline std::string monitor_table(const json& queues) {
    using enum table::align;
    table t({{"QUEUE", left},
             {"POLICY", left},
             {"TOTAL", right},
             {"INFL", right},
             {"PENDING", right},
             {"CPUTIME", right},
             {"CPUITSV", right},
             {"CMW/RPR", right},
             {"MAYDAY", right},
             {"RESCUED", right}});
    for (const json& q : queues) {
        const auto number = [&](const char* name) { return q.at(name).get<std::uint64_t>(); };
        const auto count = [&](const char* name) { return std::to_string(number(name)); };
        const auto policy = q.at("policy").get<std::string>();
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f", static_cast<double>(number("cpu_ns")) / 1e9);
        // Which of the two a queue can have depends on its policy; an elastic one has both.
        std::string replaced = count("spare_wakeups");
        if (policy == "unbound" || policy == "ordered") replaced = count("repatriated");
        else if (policy != "bound" && policy != "bh") replaced += '/' + count("repatriated");
        const bool rescuer = q.at("rescuer").get<bool>();
        t.add({q.at("name").get<std::string>(), policy, count("started"),
               std::to_string(number("started") - number("completed")), count("pending"), seconds, count("cpu_hogs"),
               replaced, rescuer ? count("maydays") : "-", rescuer ? count("rescued") : "-"});
    }
    return t.text();
}

/// Which of the queues the table lacks, as a line. `locked`: null: of the list of queues.
inline std::string locked_line(const json& locked) {
    if (locked.is_null()) return "another thread keeps the lock of the list of queues: some may be missing\n";
    std::string names;
    for (const json& name : locked) add_to_list(names, printable(name.get<std::string>()));
    return names.empty() ? names : "another thread keeps a lock of: " + names + '\n';
}

/// Each pattern must fit a queue: otherwise it is a slip.
inline void check_patterns(const std::vector<std::string>& patterns, const json& answer) {
    if (answer.at("locked").is_null()) return;
    std::vector<std::string> names = answer.at("locked");
    for (const json& q : answer.at("queues")) names.push_back(q.at("name"));
    for (const std::string& p : patterns) {
        std::string all;
        bool fits = false;
        for (const std::string& name : names) {
            fits = fits || is_wanted(name, {p});
            add_to_list(all, name);
        }
        if (!fits) throw failure(status::refused, "there is no queue '" + p + "', but: " + all);
    }
}

inline void monitor(client& to, const monitor_options& o) {
    for (unsigned n = 1;; ++n) {
        const json answer = to.ask({{"do", "queues"}});
        if (n == 1) check_patterns(o.queues, answer);
        json queues = json::array(), locked = json::array();
        for (const json& q : answer.at("queues")) {
            if (is_wanted(q.at("name").get<std::string>(), o.queues)) queues.push_back(q);
        }
        for (const json& name : answer.at("locked")) { // nothing in null
            if (is_wanted(name.get<std::string>(), o.queues)) locked.push_back(name);
        }
        if (answer.at("locked").is_null()) locked = nullptr;
        if (o.as_json) {
            const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
            const json line = {{"time", now.count()}, {"queues", queues}, {"locked", locked}};
            std::printf("%s\n", line.dump().c_str());
        } else {
            std::printf("%s%s%s", n == 1 ? "" : "\n", monitor_table(queues).c_str(), locked_line(locked).c_str());
        }
        std::fflush(stdout);
        if (n == o.count) return;
        to.pause(o.interval);
    }
}

} // namespace cmwq_tool
