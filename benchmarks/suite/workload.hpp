// SPDX-License-Identifier: BSL-1.0
//
// A workload of the suite: the same task for several contenders. A process runs one contender once, as a rule; the
// script benchmarks/tools/bench.py repeats and compares.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace suite {

enum class size : unsigned char { smoke, quick, full };

/// One run of one contender.
class run {
public:
    run(std::string workload, std::string contender, size s)
        : workload_(std::move(workload)), contender_(std::move(contender)), size_(s) {}

    template <class T>
    [[nodiscard]] T pick(T smoke, T quick, T full) const noexcept {
        return size_ == size::smoke ? smoke : size_ == size::quick ? quick : full;
    }

    /// Prints the metrics of one case as a line of JSON. The end of a metric's name is its unit.
    void report(const std::string& name_of_case, std::initializer_list<std::pair<const char*, double>> metrics) const;

    /// Ends the program with 1, and prints the sentence, if the result is wrong.
    void verify(bool right, const std::string& sentence) const;

private:
    std::string workload_;
    std::string contender_;
    size size_;
};

struct contender {
    std::string name;
    std::function<void(const run&)> measure;
};

struct workload {
    std::string name;
    std::vector<contender> contenders;
};

[[nodiscard]] workload empty();
[[nodiscard]] workload fanout();
[[nodiscard]] workload fib();
[[nodiscard]] workload nqueens();
[[nodiscard]] workload parallel_for();
[[nodiscard]] workload latency();
[[nodiscard]] workload queue_latency();
[[nodiscard]] workload ordered();
[[nodiscard]] workload pipeline();
[[nodiscard]] workload timer_storm();
[[nodiscard]] workload flush();
[[nodiscard]] workload cancel();

} // namespace suite
