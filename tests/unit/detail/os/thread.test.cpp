// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/thread.hpp>

#include <cmwq/detail/os/thread.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <sys/prctl.h>
#include <thread>

TEST_CASE("thread: a thread with exact time-outs has the smallest timer slack and others have that of the process") {
    const int before = ::prctl(PR_GET_TIMERSLACK);
    int slack = 0;
    for (const bool exact : {false, true}) {
        std::thread([&] {
            const cmwq::detail::thread_attributes a{.exact_timeouts = exact};
            static_cast<void>(cmwq::detail::apply_to_this_thread(a));
            slack = ::prctl(PR_GET_TIMERSLACK);
        }).join();
        CHECK(slack == (exact ? 1 : before));
    }
}
