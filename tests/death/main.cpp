// SPDX-License-Identifier: BSL-1.0
#include "case.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    for (auto* c = cmwq_test::death_case::first; argc == 2 && c != nullptr; c = c->next) {
        if (c->name != std::string_view(argv[1])) continue;
        c->run();
        return 0;
    }
    std::fprintf(stderr, "usage: cmwq_death CASE\n");
    return 2;
}
