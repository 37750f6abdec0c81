// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/sync/mutex.hpp>

#include <cmwq/detail/sync/mutex.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <sched.h>
#include <thread>
#include <vector>

using cmwq::detail::mutex;
using cmwq::detail::scoped_lock;

TEST_CASE("mutex: a mutex has four bytes and one owner") {
    static_assert(sizeof(mutex) == 4);
    mutex m;
    m.lock();
    bool other_got_it = true;
    std::thread([&] {
        const bool got_it = m.try_lock();
        if (got_it) m.unlock();
        other_got_it = got_it;
    }).join();
    CHECK_FALSE(other_got_it);
    m.unlock();
    const bool got_it = m.try_lock();
    CHECK(got_it);
    if (got_it) m.unlock();
}

TEST_CASE("mutex: threads exclude each other and every waiting thread is woken") {
    constexpr unsigned nr_threads = 6, each = 4000;
    mutex m;
    unsigned long long counter = 0; // plain
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < nr_threads; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < each; ++i) {
                const scoped_lock g(m);
                const auto seen = counter;
                if ((i + t) % 64 == 0) ::sched_yield(); // the holder loses the CPU: others have to sleep
                counter = seen + 1;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(counter == std::size_t{nr_threads} * each);
}

TEST_CASE("mutex: try_lock and lock of two threads exclude each other") {
    constexpr unsigned each = 20'000;
    mutex m;
    unsigned counter = 0, tried = 0;
    std::thread locker([&] {
        for (unsigned i = 0; i < each; ++i) {
            const scoped_lock g(m);
            ++counter;
        }
    });
    for (unsigned i = 0; i < each; ++i) {
        if (m.try_lock()) {
            ++counter;
            ++tried;
            m.unlock();
        }
    }
    locker.join();
    CHECK(counter == each + tried);
}
