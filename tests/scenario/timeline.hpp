// SPDX-License-Identifier: BSL-1.0
//
// The example timelines of the kernel's workqueue documentation. The program runs in any world that can burn CPU time,
// sleep and return the time.
#pragma once

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace timeline {

/// One line of a timeline: the event, and its time in milliseconds.
struct entry {
    std::string what;
    double at;
};

/// The four configurations, and the events in the documented order. The document does not define the order of two
/// events at the same time, so they form one group. The ends of two burns that share the CPU are a group as well: the
/// document gives each of them a CPU of its own.
struct scenario {
    const char* name;
    unsigned max_active;       ///< of q0
    bool others_cpu_intensive; ///< w1 and w2 are on a second queue, which is cpu_intensive
    std::vector<std::vector<std::string>> documented;
};

inline const std::vector<scenario>& scenarios() {
    static const std::vector<scenario> all{
        {"the original workqueue",
         1,
         false,
         {{"w0 starts"},
          {"w0 sleeps"},
          {"w0 wakes"},
          {"w0 finishes"},
          {"w1 starts"},
          {"w1 sleeps"},
          {"w1 finishes"},
          {"w2 starts"},
          {"w2 sleeps"},
          {"w2 finishes"}}},
        {"max_active >= 3",
         3,
         false,
         {{"w0 starts"},
          {"w0 sleeps"},
          {"w1 starts"},
          {"w1 sleeps"},
          {"w2 starts"},
          {"w2 sleeps", "w0 wakes"},
          {"w0 finishes", "w1 finishes"},
          {"w2 finishes"}}},
        {"max_active == 2",
         2,
         false,
         {{"w0 starts"},
          {"w0 sleeps"},
          {"w1 starts"},
          {"w1 sleeps"},
          {"w0 wakes"},
          {"w0 finishes", "w1 finishes", "w2 starts"},
          {"w2 sleeps"},
          {"w2 finishes"}}},
        {"w1 and w2 cpu_intensive",
         3,
         true,
         {{"w0 starts"},
          {"w0 sleeps"},
          {"w1 starts", "w2 starts"},
          {"w1 sleeps", "w2 sleeps", "w0 wakes"},
          {"w0 finishes", "w1 finishes"},
          {"w2 finishes"}}},
    };
    return all;
}

/// Whether the events came in exactly this order of groups; if not, `why` names the first difference.
inline bool in_order(const std::vector<std::vector<std::string>>& groups, const std::vector<entry>& seen,
                     std::string& why) {
    std::size_t at = 0;
    for (const auto& group : groups) {
        std::vector<std::string> left = group;
        for (std::size_t i = 0; i < group.size(); ++i, ++at) {
            const auto hit = at < seen.size() ? std::find(left.begin(), left.end(), seen[at].what) : left.end();
            if (hit == left.end()) {
                why = "event " + std::to_string(at) + " is \"" + (at < seen.size() ? seen[at].what : "nothing") +
                      "\", expected \"" + left.front() + '"';
                return false;
            }
            left.erase(hit);
        }
    }
    why = at == seen.size() ? "" : "more events than documented";
    return at == seen.size();
}

/// Whether the events came in the documented order; if not, `why` names the first difference. If w1 and w2 run side by
/// side, they share the CPU, and the scheduler decides which of them ends its burn first: the names may be exchanged.
inline bool in_documented_order(const scenario& s, std::vector<entry> seen, std::string& why) {
    if (in_order(s.documented, seen, why)) return true;
    if (!s.others_cpu_intensive) return false;
    for (entry& e : seen) {
        if (e.what.starts_with("w1")) e.what[1] = '2';
        else if (e.what.starts_with("w2")) e.what[1] = '1';
    }
    std::string why_exchanged;
    return in_order(s.documented, seen, why_exchanged);
}

inline std::string to_text(const std::vector<entry>& seen) {
    std::string text;
    for (const entry& e : seen) text += std::to_string(e.at).substr(0, 6) + " ms  " + e.what + "\n";
    return text;
}

/// The items, whose functions traces name so.
struct w0 {
    std::function<void()> run;
    void operator()() const { run(); }
};
struct w1 : w0 {};
struct w2 : w0 {};

/// Runs one scenario. `World` has `burn(ms)`, `sleep(ms)` and `now()` in milliseconds.
template <class World>
std::vector<entry> play(cmwq::runtime& rt, const scenario& s, bool annotated, World& world) {
    std::mutex lock;
    std::vector<entry> seen;
    double start = 0;
    const auto note = [&](const char* item, const char* what) {
        const std::lock_guard g(lock);
        seen.push_back({std::string(item) + ' ' + what, world.now() - start});
    };
    const auto sleep = [&] {
        if (annotated) {
            const cmwq::blocking_region region;
            world.sleep(10);
        } else {
            world.sleep(10);
        }
    };
    const auto short_item = [&](const char* name) {
        note(name, "starts");
        world.burn(5);
        note(name, "sleeps");
        sleep();
        note(name, "finishes");
    };
    cmwq::workqueue<> q0{rt, {.name = "q0", .max_active = s.max_active}};
    cmwq::workqueue<> q1{rt, {.name = "q1", .max_active = 3, .cpu_intensive = true}};
    cmwq::work first{w0{[&] {
        note("w0", "starts");
        world.burn(5);
        note("w0", "sleeps");
        sleep();
        note("w0", "wakes");
        world.burn(5);
        note("w0", "finishes");
    }}};
    cmwq::work second{w1{{[&] { short_item("w1"); }}}};
    cmwq::work third{w2{{[&] { short_item("w2"); }}}};
    const unsigned cpu = *rt.cpus().begin();
    // All three items are queued before the first one starts, as the document assumes: the item that queues them
    // occupies the CPU meanwhile.
    world.begin(q0, cpu, [&] {
        cmwq::workqueue<>& others = s.others_cpu_intensive ? q1 : q0;
        q0.queue_on(cpu, first);
        others.queue_on(cpu, second);
        others.queue_on(cpu, third);
        start = world.now();
    });
    q0.drain();
    q1.drain();
    return seen;
}

} // namespace timeline
