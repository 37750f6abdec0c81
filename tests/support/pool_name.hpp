// SPDX-License-Identifier: BSL-1.0
//
// The pool of a worker, from the name of its thread.
#pragma once

#include <pthread.h>
#include <string>

namespace cmwq_test {

inline std::string this_thread_name() {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    return name;
}

/// The pool of the calling worker: "cmwq/0" for a pool of CPU 0, "cmwq/u3" for the shared pool of that number.
inline std::string this_pool() {
    const std::string text = this_thread_name();
    return text.substr(0, text.find(':'));
}

} // namespace cmwq_test
