// SPDX-License-Identifier: BSL-1.0
//
// The seed of all random numbers of a test.
#pragma once

#include <cstdint>

namespace cmwq_test {

/// The number given by --seed, else CMWQ_SEED from the environment, else 1. Printed when the test starts; the same seed
/// gives the same random numbers.
std::uint64_t seed();

/// The name of the synchronization backend that the test is built with: "std", "fault" or "model".
const char* backend();

/// Calls `run(arg)`, which runs all tests, and returns its result. With the fault backend it first starts the faults
/// and a signal storm, seeded with `seed()`, and prints their counts at the end.
int run_under_the_backend(int (*run)(void*), void* arg);

} // namespace cmwq_test
