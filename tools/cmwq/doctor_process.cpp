// SPDX-License-Identifier: BSL-1.0
//
// Looks for the mistakes that a process shows from outside.
#include "doctor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace cmwq_tool {

namespace {

/// The numbers of the queues of one name and policy.
class numbers {
public:
    explicit numbers(const json& answer) : locked_(answer.at("locked")) {
        for (const json& q : answer.at("queues")) by_name_[key(q)] = q;
    }
    static std::string key(const json& q) {
        return q.at("name").get<std::string>() + '\n' + q.at("policy").get<std::string>();
    }
    /// Of a queue that is new, all are 0.
    [[nodiscard]] std::uint64_t of(const std::string& k, const char* member) const {
        const auto q = by_name_.find(k);
        return q == by_name_.end() ? 0 : q->second.at(member).get<std::uint64_t>();
    }
    [[nodiscard]] const std::map<std::string, json>& all() const { return by_name_; }
    /// Those that are missing, because another thread keeps a lock of theirs; null: any may be missing.
    [[nodiscard]] const json& locked() const { return locked_; }
    [[nodiscard]] bool may_lack(const json& name) const {
        return locked_.is_null() || std::ranges::find(locked_, name) != locked_.end();
    }

private:
    std::map<std::string, json> by_name_;
    const json locked_;
};

std::string named(const json& q) {
    return "queue \"" + q.at("name").get<std::string>() + "\" (" + q.at("policy").get<std::string>() + ")";
}

void examine_queue(const json& q, const numbers& before, const numbers& after, double seconds,
                   std::vector<diagnosis>& to) {
    using enum diagnosis::level;
    const std::string k = numbers::key(q), policy = q.at("policy").get<std::string>();
    const auto more = [&](const char* member) {
        return static_cast<double>(after.of(k, member) - std::min(after.of(k, member), before.of(k, member)));
    };
    if (more("saturated_ns") > 0.5e9 * seconds) {
        to.push_back({degraded,
                      named(q) + " is at its limit, max_active " + q.at("max_active").dump() + ", most of the time; " +
                          q.at("inactive").dump() + " items wait for a slot",
                      "a higher max_active, if its items block; otherwise fewer items, or shorter ones"});
    }
    const double found = more("blocks_by_sentinel") + more("blocks_by_monitor");
    if (found > 1000 * seconds) {
        char text[128];
        std::snprintf(text, sizeof text, " blocks %.0f times a second without announcing it", found / seconds);
        to.push_back({degraded, named(q) + text, "a blocking_region around what blocks saves the detection"});
    }
    if (policy == "bound" && after.of(k, "cpu_hogs") != 0) {
        to.push_back(
            {degraded,
             named(q) + " has items that keep their CPU: " + std::to_string(after.of(k, "cpu_hogs")) + " so far",
             "an unbound queue, or cpu_intensive"});
    }
    if (after.of(k, "rescued") != 0) {
        to.push_back({degraded,
                      named(q) + " had to be rescued: " + std::to_string(after.of(k, "rescued")) + " items so far",
                      "more threads: max_threads, ulimit -u, TasksMax=, pids.max"});
    }
}

// A lock that was kept at both times.
void examine_locks(const numbers& before, const numbers& after, std::vector<diagnosis>& to) {
    const auto add = [&to](const std::string& of) {
        to.push_back({diagnosis::level::degraded, "a thread keeps a lock of " + of + ", which cannot be examined",
                      "continue the thread, if a debugger or a signal has stopped it; otherwise it gets no CPU"});
    };
    if (before.locked().is_null() && after.locked().is_null()) return add("the list of queues");
    if (after.locked().is_null()) return;
    for (const json& name : after.locked()) {
        if (before.may_lack(name)) add("queue \"" + name.get<std::string>() + '"');
    }
}

// A bound queue whose items all wait on one CPU, while pools of other CPUs have nothing to do.
void examine_spread(const json& dump, std::vector<diagnosis>& to) {
    std::size_t idle_pools = 0;
    for (const json& p : dump.at("pools")) {
        if (p.at("kind") == "per_cpu" && !p.at("locked").get<bool>() && p.at("runs").empty()) ++idle_pools;
    }
    const std::size_t unused_cpus =
        dump.at("queues").empty() ? 0 : dump.at("queues").front().value("pool_of_cpu", json::array()).size();
    for (const json& q : dump.at("queues")) {
        if (q.at("kind") != "percpu" || q.at("locked").get<bool>()) continue;
        std::size_t nr_waiting = 0, nr_places = 0;
        for (const json& p : q.at("pwqs")) {
            if (p.at("locked").get<bool>()) continue;
            const std::size_t here =
                p.at("not_started").get<std::size_t>() + p.at("inactive").at("count").get<std::size_t>();
            nr_waiting += here;
            nr_places += here != 0 ? 1 : 0;
        }
        constexpr std::size_t many = 8;
        if (nr_places != 1 || nr_waiting < many || unused_cpus < 2) continue;
        if (idle_pools == 0 && dump.at("pools").size() >= unused_cpus) continue;
        to.push_back(
            {diagnosis::level::degraded,
             "queue \"" + q.at("name").get<std::string>() + "\" has " + std::to_string(nr_waiting) +
                 " items that wait for one CPU, while others are idle: a bound queue runs them where they are queued",
             "an elastic queue, or queue_on()"});
    }
}

} // namespace

std::vector<diagnosis> examine_process(client& to, double seconds) {
    using enum diagnosis::level;
    std::vector<diagnosis> all;
    const numbers before(to.ask({{"do", "queues"}}));
    to.pause(seconds);
    const numbers after(to.ask({{"do", "queues"}}));
    examine_locks(before, after, all);
    for (const auto& [k, q] : after.all()) {
        if (!before.may_lack(q.at("name"))) examine_queue(q, before, after, seconds, all);
    }
    const json dump = to.ask({{"do", "dump"}, {"format", "json"}}).at("dump");
    examine_spread(dump, all);
    std::size_t workers = 0, cpus = 0;
    for (const json& p : dump.at("pools"))
        workers += p.value("workers", std::size_t{0}); // neither locked pools nor bottom halves have the number
    for (const json& s : dump.at("scopes").is_array() ? dump.at("scopes") : json::array()) {
        if (s.at("name") == "cpu") cpus = s.at("pods").size();
    }
    if (cpus != 0 && workers > 4 * cpus) {
        all.push_back(
            {degraded, std::to_string(workers) + " workers on " + std::to_string(cpus) + " CPUs",
             "items block for long, or the queues are unbound: `cmwq top` shows in what; max_active limits them"});
    }
    const std::string stalls = to.text_of({{"do", "stalls"}});
    if (!stalls.empty())
        all.push_back({degraded, "something hangs: " + stalls.substr(0, stalls.find('\n')),
                       "`cmwq stalls` and `cmwq top` say more"});
    if (all.empty()) all.push_back({good, "nothing that is known to be wrong"});
    return all;
}

} // namespace cmwq_tool
