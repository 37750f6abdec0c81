// SPDX-License-Identifier: BSL-1.0
//
// The actions of the threads. A new action is a function and a line in the table of operations.cpp.
#pragma once

namespace soak {

class world;

struct user {
    world& w;
    unsigned number;

    void do_something();
};

} // namespace soak
