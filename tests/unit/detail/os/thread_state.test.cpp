// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/thread_state.hpp>

#include <cmwq/detail/os/thread_state.hpp> // a second time: tests the include guard

#include <cmwq/detail/sync/parker.hpp>

#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <grp.h>
#include <iterator>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

using cmwq::detail::parker;
using cmwq::detail::state_files;
using cmwq::detail::thread_times;
using cmwq::detail::os::thread_state;
using cmwq_test::eventually;

namespace {

struct spinner {
    explicit spinner(thread_state& s, state_files files, const char* name = "spinner")
        : thread([this, &s, files, name] {
              ::pthread_setname_np(::pthread_self(), name);
              s.open_own(files);
              ready = true;
              while (!stop) {}
          }) {
        while (!ready) std::this_thread::yield();
    }
    ~spinner() {
        stop = true;
        thread.join();
    }
    std::atomic<bool> ready{false}, stop{false};
    std::thread thread;
};

} // namespace

TEST_CASE("thread_state: a record without a thread is not blocked") {
    const thread_state s;
    CHECK_FALSE(s.blocked());
    thread_times t{};
    CHECK_FALSE(s.times(t));
}

TEST_CASE("thread_state: a parked thread is blocked and a thread that has ended is not") {
    for (const state_files files : {state_files::kept, state_files::reopened}) {
        CAPTURE(static_cast<bool>(files));
        thread_state s;
        parker p;
        std::atomic<bool> ready{false};
        std::thread t([&] {
            s.open_own(files);
            ready = true;
            p.park();
        });
        CHECK(eventually([&] { return ready && s.blocked(); }));
        p.unpark();
        t.join();
        CHECK_FALSE(s.blocked());
    }
}

TEST_CASE("thread_state: a spinning thread is not blocked whether it is on a CPU or waits for one") {
    for (const state_files files : {state_files::kept, state_files::reopened}) {
        CAPTURE(static_cast<bool>(files));
        thread_state s;
        const spinner it(s, files);
        int blocked = 0;
        for (int i = 0; i < 2000; ++i) blocked += s.blocked() ? 1 : 0;
        CHECK(blocked == 0);
    }
}

TEST_CASE("thread_state: the name of a thread does not matter") {
    thread_state s;
    const spinner it(s, state_files::kept, "x) S (y) S 1");
    int blocked = 0;
    for (int i = 0; i < 100; ++i) blocked += s.blocked() ? 1 : 0;
    CHECK(blocked == 0);
}

TEST_CASE("thread_state: a record serves one thread after the other") {
    thread_state s;
    std::thread([&] { s.open_own(state_files::kept); }).join();
    CHECK_FALSE(s.blocked());
    parker p;
    std::atomic<bool> ready{false};
    std::thread second([&] {
        s.open_own(state_files::kept);
        ready = true;
        p.park();
    });
    CHECK(eventually([&] { return ready && s.blocked(); })); // this is the state of the second thread
    p.unpark();
    second.join();
}

namespace {

std::ptrdiff_t nr_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

} // namespace

// proves: progress-27
TEST_CASE("thread_state: a thread closes its descriptors even during reads and the next thread has its own") {
    thread_state s;
    const std::ptrdiff_t before = nr_descriptors();
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            thread_times t{};
            while (!stop) static_cast<void>(s.blocked() && s.times(t));
        });
    }
    int kept = 0;
    for (int i = 0; i < 300; ++i) {
        std::thread([&] {
            if (s.open_own(state_files::kept)) ++kept;
            CHECK_FALSE(s.blocked()); // it reads its own state; never that of an earlier thread, parked or ended
            s.close_own();
        }).join();
        CHECK_FALSE(s.blocked());
    }
    stop = true;
    for (std::thread& t : readers) t.join();
    CHECK(kept > 0);
    CHECK(nr_descriptors() == before);
    std::thread([&] { CHECK(s.open_own(state_files::kept)); }).join();
    CHECK(nr_descriptors() == before + thread_state::nr_descriptors);
    s.close_own();
    CHECK(nr_descriptors() == before);
}

TEST_CASE("thread_state: times grow with the CPU time of the thread") {
    const state_files files = GENERATE(state_files::kept, state_files::reopened);
    CAPTURE(static_cast<bool>(files));
    thread_state s;
    const spinner it(s, files);
    thread_times first{};
    if (!s.times(first)) {
        WARN("this kernel has no scheduler statistics");
        return;
    }
    CHECK(first.cpu >= 0);
    CHECK(first.wait >= 0);
    thread_times later{};
    CHECK(eventually([&] { return s.times(later) && later.cpu > first.cpu; }));
    CHECK(later.wait >= first.wait);
}

TEST_CASE("thread_state: nr_waits is also known to a user who is in hundreds of groups") {
    thread_state mine;
    mine.open_own(state_files::reopened);
    CHECK(mine.nr_waits() >= 0);
    if (::geteuid() != 0) return; // only root can join groups
    const cmwq_test::outcome o = cmwq_test::in_child([] {
        std::vector<gid_t> groups;
        for (gid_t i = 0; i < 400; ++i) groups.push_back(1'000'000 + i); // the file has more than 4 KiB
        if (::setgroups(groups.size(), groups.data()) != 0) return 1;
        thread_state s;
        s.open_own(state_files::reopened);
        const long before = s.nr_waits();
        if (before < 0) return 2;
        return eventually([&] { return s.nr_waits() > before; }) ? 0 : 3; // it waits between two looks
    });
    CHECK(o.exited_with(0));
}
