// SPDX-License-Identifier: BSL-1.0
//
// RLIMIT_NPROC counts the threads of a user and does not hold for root, so root becomes another user in a child.
#include "no_threads.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <grp.h>
#include <iterator>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

/// A user without any process, because the limit counts all processes of the user.
uid_t user_without_processes() {
    std::vector<uid_t> seen;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
        struct stat s{};
        if (::stat(process.path().c_str(), &s) == 0) seen.push_back(s.st_uid);
    }
    uid_t uid = 61'234;
    while (std::find(seen.begin(), seen.end(), uid) != seen.end()) ++uid;
    return uid;
}

void set_limit(rlim_t n) {
    rlimit l{};
    ::getrlimit(RLIMIT_NPROC, &l);
    l.rlim_cur = std::min(n, l.rlim_max);
    ::setrlimit(RLIMIT_NPROC, &l);
}

/// The threads of this process.
rlim_t nr_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<rlim_t>(std::distance(begin(tasks), end(tasks)));
}

/// In a child, which belongs to a user without other processes: calls check(tighten, lift), of which the first one sets
/// RLIMIT_NPROC to what `limit` returns.
template <class Check>
void check_at_limit(rlim_t (*limit)(), Check check) {
    const bool root = ::geteuid() == 0;
    const uid_t uid = root ? user_without_processes() : ::geteuid();
    cmwq_test::check_in_child_or_skip(
        [&] {
            if (root) {
                // A program that changes its user cannot read its own /proc files unless it is dumpable.
                if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)
                    return cmwq_test::not_permitted;
                ::prctl(PR_SET_DUMPABLE, 1);
            }
            rlimit before{};
            ::getrlimit(RLIMIT_NPROC, &before);
            return check([&] { set_limit(limit()); }, [&] { set_limit(before.rlim_cur); });
        },
        "root may not become another user here");
}

} // namespace

// proves: kernel-33
TEMPLATE_LIST_TEST_CASE("limits: a queue with a rescuer works while RLIMIT_NPROC admits no worker", "",
                        cmwq_test::threaded_policies) {
    check_at_limit([] { return rlim_t{1}; },
                   [](auto tighten, auto lift) { return cmwq_test::check_without_threads<TestType>(tighten, lift); });
}

// proves: progress-35
TEMPLATE_LIST_TEST_CASE("limits: at RLIMIT_NPROC no item waits beside idle workers of another pool", "",
                        cmwq_test::threaded_policies) {
    check_at_limit(&nr_threads, [](auto tighten, auto lift) {
        return cmwq_test::check_idle_workers_suffice<TestType>(tighten, lift);
    });
}
