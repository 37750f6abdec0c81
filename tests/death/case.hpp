// SPDX-License-Identifier: BSL-1.0
//
// The cases of the program that misuses the library: `cmwq_death NAME` runs one of them.
#pragma once

#include <cmwq/runtime_options.hpp>

#include <cstdio>
#include <cstdlib>

namespace cmwq_test {

struct death_case {
    death_case(const char* n, void (*f)()) noexcept : name(n), run(f), next(first) { first = this; }

    const char* const name;
    void (*const run)();
    death_case* const next;
    static inline death_case* first = nullptr;
};

/// A listener for a case that ends with its first report.
inline void abort_with_message(const cmwq::event& e) {
    std::fprintf(stderr, "%s\n", e.message.c_str());
    std::abort();
}

} // namespace cmwq_test

/// Defines the case of this name; the body follows. The file has the same name.
#define DEATH_CASE(name)                                                                                               \
    static void name();                                                                                                \
    static cmwq_test::death_case case_##name{#name, &name};                                                            \
    static void name()
