// SPDX-License-Identifier: BSL-1.0
#include "eventually.hpp"
#include "catch.hpp"
#include "seed.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using cmwq_test::eventually;

TEST_CASE("eventually: a change by another thread ends the wait") {
    std::atomic<bool> done{false};
    std::thread other([&] { done = true; });
    CHECK(eventually([&] { return done.load(); }));
    other.join();
}

TEST_CASE("eventually: the wait ends at the deadline after one more check") {
    int looked = 0;
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(eventually([&] { return ++looked < 0; }, std::chrono::milliseconds{5}));
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds{5});
    CHECK(looked >= 2);
    CHECK(eventually([] { return true; }, std::chrono::nanoseconds{0}));
}

TEST_CASE("seed: the seed is the same for the whole run") {
    CHECK(cmwq_test::seed() == cmwq_test::seed());
    CHECK(cmwq_test::backend() == std::string{"std"});
}
