// SPDX-License-Identifier: BSL-1.0
//
// Who ran the items of a queue, and where.
#pragma once

#include <cmwq/cpuset.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace mixed {

/// Notes the threads and CPUs of many runs. Without a lock, because bottom halves must not wait for one.
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

    // When no run is under way.
    [[nodiscard]] unsigned long runs() const noexcept { return runs_; }
    [[nodiscard]] unsigned most_at_once() const noexcept { return peak_; }
    [[nodiscard]] cmwq::cpuset cpus() const;
    /// The names of the threads, sorted.
    [[nodiscard]] std::vector<std::string> threads() const;

private:
    static constexpr std::size_t nr_cpus = 4096;
    static constexpr std::size_t nr_threads = 4096; // of the process in its whole life; the others are not noted

    std::atomic<unsigned long> runs_{0};
    std::atomic<unsigned> running_{0};
    std::atomic<unsigned> peak_{0};
    std::array<std::atomic<bool>, nr_cpus> on_cpu_{};
    std::array<std::atomic<bool>, nr_threads> by_thread_{};
};

} // namespace mixed
