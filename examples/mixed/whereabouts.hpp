// SPDX-License-Identifier: BSL-1.0
//
// The threads and CPUs that ran the items of a queue.
#pragma once

#include <cmwq/cpuset.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace mixed {

/// Records the threads and CPUs of many runs. It has no lock, because bottom halves must not wait for one.
class whereabouts {
public:
    /// One run, from its beginning to its end.
    class run {
    public:
        [[nodiscard]] explicit run(whereabouts& w) noexcept;
        ~run() { w_.running_.fetch_sub(1); }
        run(const run&) = delete;
        run& operator=(const run&) = delete;

    private:
        whereabouts& w_;
    };

    // Call these when no run is in progress.
    [[nodiscard]] unsigned long runs() const noexcept { return runs_; }
    [[nodiscard]] unsigned most_at_once() const noexcept { return peak_; }
    [[nodiscard]] cmwq::cpuset cpus() const;
    /// The names of the threads, sorted.
    [[nodiscard]] std::vector<std::string> threads() const;

private:
    static constexpr std::size_t nr_cpus = 4096;
    static constexpr std::size_t nr_threads = 4096; // the first threads of the process; later ones are not recorded

    std::atomic<unsigned long> runs_{0};
    std::atomic<unsigned> running_{0};
    std::atomic<unsigned> peak_{0};
    std::array<std::atomic<bool>, nr_cpus> on_cpu_{};
    std::array<std::atomic<bool>, nr_threads> by_thread_{};
};

} // namespace mixed
