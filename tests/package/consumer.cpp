// SPDX-License-Identifier: BSL-1.0
//
// The first program of a new user; the same for every way to get the library.
#include <cmwq/cmwq.hpp>

#include <cstdio>

int main() {
    int ran = 0;
    cmwq::workqueue<> wq{"consumer"};
    cmwq::work item{[&ran] { ++ran; }};
    wq.queue(item);
    wq.flush();
    std::printf("ran %d times\n", ran);
    return ran == 1 ? 0 : 1;
}
