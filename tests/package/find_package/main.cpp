// SPDX-License-Identifier: BSL-1.0
//
// A program of three translation units: two include the whole library, one includes its declarations only. Two of its
// object files have the engine; the program has one engine, one global runtime and no duplicate symbols.
#include <cmwq/cmwq.hpp>

#include "parts.hpp"

#include <cstdio>

int main() {
    int ran = 0;
    cmwq::workqueue<> wq{"first"};
    cmwq::work item{[&ran] { ++ran; }};
    queue_only(wq, item);
    wq.flush();
    run_with_engine([&ran] { ++ran; });
    std::printf("ran %d times\n", ran);
    return ran == 2 ? 0 : 1;
}
