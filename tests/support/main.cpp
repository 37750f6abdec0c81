// SPDX-License-Identifier: BSL-1.0
//
// main() of every test: main() of Catch2 with the option --seed. It prints one line with all data that is needed to
// repeat the run.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include "seed.hpp"

#include <cstdlib>
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

int main(int argc, char** argv) {
    std::vector<char*> args(argv, argv + argc);
    const std::optional<std::uint64_t> from_option = take_seed(args);

    Catch::Session session;
    bool catch_seed_given = false;
    for (const char* arg : args) catch_seed_given |= std::string(arg).rfind("--rng-seed", 0) == 0;
    if (const int error = session.applyCommandLine(static_cast<int>(args.size()), args.data()); error != 0)
        return error;

    const char* from_environment = std::getenv("CMWQ_SEED");
    if (from_option) chosen_seed = *from_option;
    else if (from_environment != nullptr) chosen_seed = to_seed(from_environment);
    else if (catch_seed_given) chosen_seed = session.configData().rngSeed;

    // The searches of the backend model, and the children of a test, take it from there.
    ::setenv("CMWQ_SEED", std::to_string(chosen_seed).c_str(), 1);
#if CATCH_VERSION_MAJOR < 3 // an error by default since then
    session.configData().warnings = Catch::WarnAbout::What(session.configData().warnings | Catch::WarnAbout::NoTests);
#endif
    std::cout << "seed " << chosen_seed << " (--seed), " << std::thread::hardware_concurrency() << " CPUs, backend "
              << cmwq_test::backend() << std::endl;
    return cmwq_test::run_under_the_backend([](void* s) { return static_cast<Catch::Session*>(s)->run(); }, &session);
}
