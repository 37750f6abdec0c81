// SPDX-License-Identifier: BSL-1.0
//
// The actions of the threads. One more operation is one more function and a line in the table of operations.cpp.
#pragma once

namespace soak {

class world;

struct user {
    world& w;
    unsigned number;

    void do_something();
};

} // namespace soak
