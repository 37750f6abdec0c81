// SPDX-License-Identifier: BSL-1.0
//
// main() of every test: that of Catch2 with the option --seed. It prints one line with all data that is needed to
// repeat the run. The linker calls this main(), and Catch2's is __real_main(): only so can it be the one in the
// system's library, and compiling Catch2 takes 20 s.
#include "seed.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t chosen_seed = 1;

std::uint64_t to_seed(const std::string& text) {
    try {
        std::size_t used = 0;
        const std::uint64_t value = std::stoull(text, &used, 0);
        if (used == text.size() && text.front() != '-') return value;
    } catch (const std::exception&) {
        // Prints the same error message as for trailing characters.
    }
    std::cerr << "error: the seed '" << text << "' is not a number\n";
    std::exit(2);
}

/// Takes `--seed N` and `--seed=N` out of the arguments: Catch2 would refuse them.
std::optional<std::uint64_t> take_seed(std::vector<char*>& args) {
    std::optional<std::uint64_t> found;
    for (auto it = args.begin() + 1; it != args.end();) {
        const std::string arg = *it;
        if (arg == "--seed" && it + 1 != args.end()) {
            found = to_seed(*(it + 1));
            it = args.erase(it, it + 2);
        } else if (arg.rfind("--seed=", 0) == 0) {
            found = to_seed(arg.substr(7));
            it = args.erase(it);
        } else {
            ++it;
        }
    }
    return found;
}

} // namespace

std::uint64_t cmwq_test::seed() { return chosen_seed; }

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
    std::vector<char*> args(argv, argv + argc);
    const std::optional<std::uint64_t> from_option = take_seed(args);
    const char* from_environment = std::getenv("CMWQ_SEED");
    if (from_option) chosen_seed = *from_option;
    else if (from_environment != nullptr) chosen_seed = to_seed(from_environment);

    // The searches of the backend model, and the children of a test, take it from there.
    ::setenv("CMWQ_SEED", std::to_string(chosen_seed).c_str(), 1);
#if !__has_include(<catch2/catch_all.hpp>) // an error by default since version 3
    static char no_tests[] = "--warn=NoTests";
    args.push_back(no_tests);
#endif
    std::cout << "seed " << chosen_seed << " (--seed), " << std::thread::hardware_concurrency() << " CPUs, backend "
              << cmwq_test::backend() << std::endl;
    return cmwq_test::run_under_the_backend(
        [](void* a) {
            auto& all = *static_cast<std::vector<char*>*>(a);
            return __real_main(static_cast<int>(all.size()), all.data());
        },
        &args);
}
