// SPDX-License-Identifier: BSL-1.0
//
// The local lists of workers, which their owners lock by a bias: other threads revoke it by membarrier(2), as far as
// the system permits that.
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/base/sanitizer.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

using namespace std::chrono_literals;
using cmwq_test::eventually;
using cmwq_test::findings;
using cmwq_test::in_child;
using process_barrier = cmwq::detail::process_barrier;

namespace {

/// Whether lists get a bias here: ThreadSanitizer does not know the system call.
bool has_membarrier() {
#ifdef CMWQ_THREAD_SANITIZER
    return false;
#else
    const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
#endif
}

/// As far as the C library tells.
bool has_one_thread() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
}

/// From now on membarrier(2) fails in each thread of the process. False: the system has no such filters.
bool forbid_membarrier() {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{.len = std::size(rules), .filter = rules};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

/// A queue, and a tree of tasks in it whose leaves are counted.
class forest {
public:
    /// Grows a tree in an item. Other threads need its local tasks all the time. False: a leaf is missing.
    bool grow() {
        constexpr int depth = 12;
        std::atomic<bool> done{false};
        long leaves = 0;
        cmwq::work tree{[&] {
            leaves = grow(depth);
            done = true;
        }};
        q_.queue(tree);
        while (!done) static_cast<void>(q_.stats());
        tree.flush();
        return leaves == 1L << depth;
    }
    [[nodiscard]] cmwq::runtime_stats stats() const { return rt_.stats(); }

private:
    long grow(int depth) { // NOLINT(misc-no-recursion)
        if (depth == 0) return 1;
        long left = 0;
        cmwq::task_group g{q_};
        g.run([&] { left = grow(depth - 1); });
        const long right = grow(depth - 1);
        g.wait();
        return left + right;
    }

    cmwq::runtime rt_;
    cmwq::workqueue<cmwq::elastic> q_{rt_, "q"};
};

constexpr int rounds = 20, skipped = 64;

} // namespace

TEST_CASE("biased lists: where the system refuses membarrier(2), lists have no bias, and nothing else changes") {
    const auto o = in_child([] {
        const bool was_registered = process_barrier::is_ready(); // by a runtime of the parent
        if (!forbid_membarrier()) return skipped;
        findings f;
        forest trees;
        for (int i = 0; i < rounds; ++i) f.expect(1, trees.grow(), "a leaf is missing");
        f.expect(2, was_registered || trees.stats().bias_revocations == 0, "a list had a bias");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK((o.exited_with(0) || o.exited_with(skipped)));
}

TEST_CASE("biased lists: in a program whose first threads are those of its runtime, lists may have a bias at once") {
    const auto o = in_child([] {
        if (!has_membarrier() || !has_one_thread()) return skipped;
        const cmwq::runtime rt;
        findings f;
        f.expect(1, process_barrier::is_ready(), "the process is not registered");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK((o.exited_with(0) || o.exited_with(skipped)));
}

TEST_CASE("biased lists: a filter that forbids membarrier(2) while lists have a bias takes it from all of them") {
    const auto o = in_child([] {
        findings f;
        forest trees;
        if (!has_membarrier()) return skipped;
        while (trees.stats().bias_revocations == 0) f.expect(1, trees.grow(), "a leaf is missing before");
        if (!forbid_membarrier()) return skipped;
        const std::uint64_t before = trees.stats().bias_revocations;
        for (int i = 0; i < rounds; ++i) f.expect(2, trees.grow(), "a leaf is missing after that");
        f.expect(4, trees.stats().bias_revocations - before <= trees.stats().peak_threads, "a list got a bias again");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK((o.exited_with(0) || o.exited_with(skipped)));
}

TEST_CASE("biased lists: after such a filter, each barrier lasts until no CPU can keep a store to itself") {
    const auto o = in_child([] {
        process_barrier::want();
        process_barrier::prepare();
        if (!process_barrier::is_ready() || !forbid_membarrier()) return skipped;
        findings f;
        for (int i = 0; i < 3; ++i) {
            const auto began = std::chrono::steady_clock::now();
            process_barrier::run();
            f.expect(1, std::chrono::steady_clock::now() - began >= 1ms, "there was neither a barrier nor a pause");
            f.expect(2, !process_barrier::is_ready(), "another list would get a bias");
        }
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK((o.exited_with(0) || o.exited_with(skipped)));
}

TEST_CASE("biased lists: the statistics count how often another thread has revoked a bias") {
    forest trees;
    if (!has_membarrier()) {
        CHECK(trees.grow());
        CHECK(trees.stats().bias_revocations == 0);
        return;
    }
    CHECK(eventually([&] { return !trees.grow() || trees.stats().bias_revocations >= 3; }));
    CHECK(trees.grow());
}
