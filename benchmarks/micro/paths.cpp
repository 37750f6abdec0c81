// SPDX-License-Identifier: BSL-1.0
//
// Runs one path of the library many times, so that tools/instructions.py can count its instructions.
#include <cmwq/cmwq.hpp>
#if __has_include(<cmwq/task_group.hpp>) // so that older versions can be counted, too
#include <cmwq/task_group.hpp>
#endif

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <string>

namespace {

using namespace std::chrono_literals;

/// Without sentinels: valgrind does not know their scheduling class, and lets them look at the pools all the time.
cmwq::runtime& quiet_runtime() {
    static cmwq::runtime rt{{.sentinel = false}};
    return rt;
}

template <class Policy>
cmwq::workqueue<Policy>& queue() {
    static cmwq::workqueue<Policy> q{quiet_runtime(), "paths"};
    return q;
}

/// A thread outside the pool posts closures.
template <class Policy>
void post_outside(int n) {
    for (int i = 0; i < n; ++i) queue<Policy>().post([] {});
    queue<Policy>().flush();
}

/// An item posts closures.
template <class Policy>
void post_inside(int n) {
    queue<Policy>().post([n] {
        for (int i = 0; i < n; ++i) queue<Policy>().post([] {});
    });
    queue<Policy>().drain();
}

/// A thread outside the pool queues items that exist.
template <class Policy>
void queue_outside(int n) {
    const auto nothing = [] {};
    std::deque<cmwq::work<decltype(nothing)>> items;
    for (int i = 0; i < n; ++i) queue<Policy>().queue(items.emplace_back(nothing));
    queue<Policy>().flush();
}

/// An item queues itself again.
template <class Policy>
void queue_again(int n) {
    cmwq::work again{[&n] {
        if (--n > 0) queue<Policy>().queue(*cmwq::this_work::current());
    }};
    queue<Policy>().queue(again);
    queue<Policy>().drain();
}

/// Timers that are armed, get another time, and are cancelled.
void timer(int n) {
    cmwq::delayed_work item{[] {}};
    for (int i = 0; i < n; ++i) {
        queue<cmwq::bound>().queue_after(1h, item);
        queue<cmwq::bound>().modify(2h, item);
        item.cancel();
    }
}

#if __has_include(<cmwq/task_group.hpp>)
/// A tree of n calls, each of which waits for its two calls.
void calls(int n) {
    if (n <= 1) return;
    cmwq::task_group both{queue<cmwq::elastic>()};
    both.run([n] { calls(n / 2); });
    calls(n - n / 2);
    both.wait();
}
void fork_and_join(int n) {
    queue<cmwq::elastic>().post([n] { calls(n); });
    queue<cmwq::elastic>().flush();
}
#endif

} // namespace

int main(int argc, char** argv) {
    using namespace cmwq;
    const std::map<std::string, void (*)(int)> paths{
        {"post-outside-bound", post_outside<bound>},
        {"post-outside-elastic", post_outside<elastic>},
        {"post-outside-unbound", post_outside<unbound>},
        {"post-outside-ordered", post_outside<ordered>},
        {"post-inside-bound", post_inside<bound>},
        {"post-inside-elastic", post_inside<elastic>},
        {"queue-outside-bound", queue_outside<bound>},
        {"queue-outside-elastic", queue_outside<elastic>},
        {"queue-again-bound", queue_again<bound>},
        {"queue-again-elastic", queue_again<elastic>},
        {"timer", timer},
#if __has_include(<cmwq/task_group.hpp>)
        {"fork-and-join", fork_and_join},
#endif
    };
    CLI::App app{"Runs one path of the library many times. tools/instructions.py counts the instructions."};
    std::string name;
    int n = 0;
    bool list = false;
    app.add_option("path", name, "the path");
    app.add_option("count", n, "how many times")->check(CLI::PositiveNumber);
    app.add_flag("--list", list, "print the names of the paths, and run nothing");
    CLI11_PARSE(app, argc, argv);
    if (list) {
        for (const auto& p : paths) std::puts(p.first.c_str());
        return 0;
    }
    const auto p = paths.find(name);
    if (p == paths.end()) {
        std::fprintf(stderr, "error: no path has the name '%s'; --list prints the names\n", name.c_str());
        return 2;
    }
    p->second(n);
}
