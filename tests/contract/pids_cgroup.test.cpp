// SPDX-License-Identifier: BSL-1.0
//
// The limit of a cgroup: pids.max, of version 2 or 1, as in containers.
#include "no_threads.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

bool write_to(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    return static_cast<bool>((out << text).flush());
}

std::string first_text_of(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text, '\0');
    return text;
}

/// A new cgroup below a cgroup that has the controller. `why_not`: the reason if there is none.
class pids_cgroup {
public:
    pids_cgroup() {
        std::istringstream mounts(first_text_of("/proc/mounts"));
        std::string device, at, type, options, rest;
        while (mounts >> device >> at >> type >> options && std::getline(mounts, rest)) {
            const bool v1 = type == "cgroup" && ("," + options + ",").find(",pids,") != std::string::npos;
            const bool v2 =
                type == "cgroup2" && first_text_of(at + "/cgroup.controllers").find("pids") != std::string::npos;
            if (!v1 && !v2) continue;
            // A cgroup of version 2 must pass its controllers on to its children. The root of a cgroup namespace that
            // has no controllers cannot be used.
            if (v2) write_to(at + "/cgroup.subtree_control", "+pids");
            const fs::path mine = fs::path(at) / ("cmwq_test_" + std::to_string(::getpid()));
            std::error_code failed;
            fs::create_directory(mine, failed);
            if (failed) {
                why_not = "cannot make a cgroup in " + at + ": " + failed.message();
                continue;
            }
            path_ = mine;
            if (fs::exists(mine / "pids.max")) return;
            why_not = at + " does not pass the controller pids on";
            remove();
        }
        if (why_not.empty()) why_not = "no cgroup with the controller pids is mounted";
    }
    ~pids_cgroup() { remove(); }
    pids_cgroup(const pids_cgroup&) = delete;
    pids_cgroup& operator=(const pids_cgroup&) = delete;

    [[nodiscard]] bool exists() const { return !path_.empty(); }
    [[nodiscard]] bool enter() const { return write_to(path_ / "cgroup.procs", "0"); }
    void set_max(const std::string& n) const { write_to(path_ / "pids.max", n); }
    [[nodiscard]] std::string current() const { return first_text_of(path_ / "pids.current"); }

    std::string why_not;

private:
    void remove() {
        if (path_.empty()) return;
        // The last process may be listed for a moment after the wait for it.
        static_cast<void>(cmwq_test::eventually([this] { return ::rmdir(path_.c_str()) == 0; }));
        path_.clear();
    }
    fs::path path_;
};

} // namespace

/// In a child in a new cgroup: calls check(tighten, lift), of which the first one sets pids.max to what exists.
template <class Check>
static void check_in_cgroup(Check check) {
    const pids_cgroup group;
    if (!group.exists()) {
        std::cout << "skipped: " << group.why_not << '\n';
        return;
    }
    cmwq_test::check_in_child_or_skip(
        [&] {
            if (!group.enter()) return cmwq_test::not_permitted;
            return check([&] { group.set_max(group.current()); }, [&] { group.set_max("max"); });
        },
        "this process may not enter another cgroup");
}

TEMPLATE_LIST_TEST_CASE("limits: a queue with a rescuer works while pids.max of the cgroup admits no worker", "",
                        cmwq_test::threaded_policies) {
    check_in_cgroup([](auto tighten, auto lift) { return cmwq_test::check_without_threads<TestType>(tighten, lift); });
}

// proves: progress-35
TEMPLATE_LIST_TEST_CASE("limits: at pids.max of the cgroup no item waits beside idle workers of another pool", "",
                        cmwq_test::threaded_policies) {
    check_in_cgroup(
        [](auto tighten, auto lift) { return cmwq_test::check_idle_workers_suffice<TestType>(tighten, lift); });
}
