// SPDX-License-Identifier: BSL-1.0
#include "seed.hpp"

#include <cmwq/detail/base/config.hpp>

#if CMWQ_SYNC == 1
#include "faults.hpp"
#include "signal_storm.hpp"

#include <fault/fault.hpp>

#include <cstdint>
#include <iostream>
#elif CMWQ_SYNC == 2
#include <model/options.hpp>

#include <cstdlib>
#include <iostream>
#endif

const char* cmwq_test::backend() {
#if CMWQ_SYNC == 0
    return "std";
#elif CMWQ_SYNC == 1
    return "fault";
#elif CMWQ_SYNC == 2
    return "model";
#else
    return "counting";
#endif
}

#if CMWQ_SYNC == 1

// By default no start of a thread fails, because the constructor of a runtime throws without its threads. A test that
// needs such failures configures them.
int cmwq_test::run_under_the_backend(int (*run)(void*), void* arg) {
    namespace fault = cmwq::detail::fault;
    fault::configure({.seed = seed(),
                      .early_return = 0.1,
                      .double_wake = 0.1,
                      .yield = 0.005,
                      .nap = chance_of_a_nap,
                      .weak_failure = 0.1,
                      .clock_jump = chance_of_a_clock_jump});
    std::uint64_t rounds = 0;
    int result = 0;
    {
        const signal_storm storm(seed());
        result = run(arg);
        rounds = storm.rounds();
    }
    const fault::counts c = fault::injected();
    std::cout << "faults: " << c.early_returns << " early returns, " << c.double_wakes << " double wakes, " << c.yields
              << " yields, " << c.naps << " naps, " << c.weak_failures << " weak failures, " << c.refused_threads
              << " threads refused, " << c.clock_jumps << " clock jumps, " << rounds << " signals for each thread, "
              << signal_storm::handled() << " handled" << std::endl;
    return result;
}

#elif CMWQ_SYNC == 2

int cmwq_test::run_under_the_backend(int (*run)(void*), void* arg) {
    const int result = run(arg);
    if (std::getenv("CMWQ_MODEL_REPLAY") == nullptr || cmwq::detail::model::nr_replayed() != 0) return result;
    std::cerr << "error: no search that has run has the name with which CMWQ_MODEL_REPLAY begins\n";
    return 2;
}

#else

int cmwq_test::run_under_the_backend(int (*run)(void*), void* arg) { return run(arg); }

#endif
