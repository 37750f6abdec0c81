// SPDX-License-Identifier: BSL-1.0
// proves: life-9
//
// The soak: many threads call every operation of the library at random, and the program checks the guarantees. Each
// round has its own runtime, and at its end all counts must agree.
#include "complaints.hpp"
#include "kinds.hpp"
#include "queues.hpp"
#include "settings.hpp"
#include "watchdog.hpp"
#include "world.hpp"

#include "eventually.hpp"
#include "nr_tasks.hpp"
#include "seed.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

std::uint64_t seed_of_round = 0;

} // namespace

#if defined(__SANITIZE_THREAD__)
// The last owner of an exception frees it inside of libstdc++, where the sanitizer does not see the reference counts.
extern "C" const char* __tsan_default_suppressions() { return "race:std::__exception_ptr::exception_ptr::_M_release"; }
#endif

std::uint64_t cmwq_test::seed() { return seed_of_round; }

namespace soak { namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

void print_operations() {
    std::vector<const kind*> all;
    for (const kind* k = kind::all; k != nullptr; k = k->next) all.push_back(k);
    std::reverse(all.begin(), all.end());
    std::uint64_t sum = 0;
    for (const kind* k : all) {
        std::printf("  %-28s %12llu\n", k->name, static_cast<unsigned long long>(k->tried));
        sum += k->tried;
    }
    std::printf("  %-28s %12llu\n", "all", static_cast<unsigned long long>(sum));
}

void round(const settings& s, unsigned number, complaints& c, watchdog& w) {
    seed_of_round = s.seed + number * 0x9e3779b97f4a7c15u;
    seed_this_thread(0);
    const std::ptrdiff_t tasks = cmwq_test::nr_tasks();
    {
        std::optional<world> all;
        does(op::runtime_made, [&] { all.emplace(s, c); });
        std::printf("round %u: %s\n", number, all->machine.description().c_str());
        std::fflush(stdout);
        {
            const watchdog::describes d(w, [&] { return all->machine.dump(); });
            all->run(s.operations / 5 + dice().below(s.operations * 8 / 5 + 1));
            all->settle();
        }
        does(op::runtime_destroyed, [&] { all.reset(); });
    }
    const doing d(op::settles);
    // A joined thread may stay in the list for a moment.
    c.expect(cmwq_test::eventually([&] { return cmwq_test::nr_tasks() == tasks; }), "threads of the runtime are left");
}

int run_rounds(const settings& s) {
    std::string reproduction = "soak --seed " + std::to_string(s.seed) + " --threads " + std::to_string(s.threads) +
                               " --operations " + std::to_string(s.operations);
    if (s.only_groups) reproduction += " --groups";
    for (const std::string& k : s.kinds) reproduction += " --policy " + k;
    std::printf("%s, backend %s\n", reproduction.c_str(), cmwq_test::backend());
    complaints c;
    watchdog w({.patience = s.patience, .hold = s.hold, .reproduction = reproduction});
    const auto begin = clock::now();
    unsigned number = s.first_round;
    do {
        round(s, number++, c, w);
    } while (c.count() == 0 && (s.seconds > 0 ? seconds_since(begin) < s.seconds : number - s.first_round < s.rounds));
    std::printf("seed %llu, %.1f s, %u rounds, %u threads; calls of each operation:\n",
                static_cast<unsigned long long>(s.seed), seconds_since(begin), number - s.first_round, s.threads);
    print_operations();
    if (c.count() == 0) {
        std::printf("soak: ok\n");
        return 0;
    }
    std::printf("soak: %llu complaints\nreproduce: %s --round %u --rounds 1\n",
                static_cast<unsigned long long>(c.count()), reproduction.c_str(), number - 1);
    return 1;
}

}} // namespace soak

int main(int argc, char** argv) {
    soak::settings s;
    CLI::App app{"Calls every operation of the library at random, and checks the results."};
    app.add_option("--rounds", s.rounds, "number of rounds")->capture_default_str();
    app.add_option("--seconds", s.seconds, "instead of --rounds: rounds until this time has passed")
        ->envname("CMWQ_SOAK_SECONDS");
    app.add_option("--seed", s.seed, "seed of all random choices; default: CMWQ_SEED or 1")->envname("CMWQ_SEED");
    app.add_option("--threads", s.threads, "number of threads that call operations")
        ->check(CLI::Range(1u, soak::max_threads))
        ->capture_default_str();
    app.add_option("--operations", s.operations, "calls of each thread in a round, on average")->capture_default_str();
    app.add_option("--round", s.first_round, "number of the first round")->capture_default_str();
    app.add_option("--patience", s.patience, "seconds until an operation counts as stuck")->capture_default_str();
    app.add_flag("--groups", s.only_groups, "only task groups, and changes of limits and attributes");
    app.add_flag("--hold", s.hold, "if an operation is stuck, wait for a debugger instead of aborting");
    std::vector<std::string> kinds;
    for (const soak::queue_kind& k : soak::queue_kinds()) kinds.emplace_back(k.name);
    app.add_option("--policy", s.kinds, "kinds of queue; default: all")->check(CLI::IsMember(kinds));
    CLI11_PARSE(app, argc, argv);
    seed_of_round = s.seed; // for the faults
    return cmwq_test::run_under_the_backend(
        [](void* options) { return soak::run_rounds(*static_cast<soak::settings*>(options)); }, &s);
}
