// SPDX-License-Identifier: BSL-1.0
//
// The options and the result of a search of the model backend.
//
// A search ends after a number of steps, so that it runs the same executions on every machine. CMWQ_MODEL_SECONDS=<n>
// replaces this bound by real time, for a long search. The environment also overrides other options of every search of
// a program: CMWQ_MODEL_PREEMPTIONS and CMWQ_SEED. CMWQ_MODEL_REPLAY=<schedule> runs only the execution that the
// schedule names, in the search that it names, with a trace of the operations. CMWQ_MODEL_TRACE=1 traces simulations.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <model/core.hpp>

#include <cstdio>
#include <cstdlib>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The options of a search.
struct options {
    std::string name = "unnamed";   ///< the prefix of schedule strings, by which a replay finds its search; without '@'
    unsigned preemptions = 2;       ///< switches away from a thread that could continue, per execution
    unsigned stale_reads = 2;       ///< loads that return another value than the latest, per execution
    unsigned history = 4;           ///< values that an atomic keeps, at most max_history
    unsigned time_jumps = 0;        ///< times that a deadline passes although a thread could run, per execution
    unsigned stalls = 0;            ///< times that a thread with a may_stall object stops for long, per execution
    bool stalls_with_locks = true;  ///< false: it does not stop while it holds a mutex
    bool spurious_failures = false; ///< compare_exchange_weak may fail spuriously (counts as a stale read)
    std::uint64_t random_executions =
        10'000; ///< at most; after the exhaustive part, or from where that ran out of steps
    std::uint64_t seed = 1;
    std::uint32_t max_steps = 20'000; ///< per execution; a longer execution is a livelock
    bool livelock_fails = true;       ///< false: a livelock counts as truncated
    std::uint64_t steps = 50'000'000; ///< for the whole search, which ends after the execution that exceeds them
    double seconds = 0;               ///< not zero: of real time for the whole search, instead of the steps
    bool quiet = false;               ///< print nothing: for searches that must fail
    std::string replay = {};          ///< a schedule string: run only this execution, with a trace
    surroundings around = {};
};

/// The result of a search.
struct result {
    bool failed = false;
    std::string message;
    std::string schedule;         ///< of the failed execution, for options::replay or CMWQ_MODEL_REPLAY
    std::uint64_t executions = 0; ///< all, including the random ones
    std::uint64_t random_executions = 0;
    std::uint64_t truncated = 0; ///< ended at max_steps
    bool exhausted = false;      ///< every execution within the bounds was run
    double seconds = 0;
    std::vector<std::string> trace; ///< of a replay

    explicit operator bool() const noexcept { return !failed; }
};

/// How many searches of the program have replayed a schedule of CMWQ_MODEL_REPLAY.
inline unsigned& nr_replayed() noexcept {
    static unsigned n = 0;
    return n;
}

/// A random number generator: splitmix64.
class generator {
public:
    explicit generator(std::uint64_t seed = 0) noexcept : s_(seed) {}
    std::uint64_t operator()() noexcept {
        std::uint64_t z = s_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t s_;
};

/// Ends the program if the variable is set, and is not a number.
template <class T>
void from_environment(T& value, const char* name) {
    const char* s = std::getenv(name);
    if (s == nullptr || *s == 0) return;
    char* end = nullptr;
    if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(std::strtod(s, &end));
    } else {
        value = static_cast<T>(std::strtoull(s, &end, 0));
    }
    if (*end == 0 && *s != '-') return;
    std::fprintf(stderr, "error: %s='%s' is not a number\n", name, s);
    std::exit(2);
}

}}} // namespace cmwq::CMWQ_NS::detail::model
