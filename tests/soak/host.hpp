// SPDX-License-Identifier: BSL-1.0
//
// The runtime of a round. This header includes only <cmwq/attrs.hpp> and <cmwq/fwd.hpp> of the library.
#pragma once

#include "stress.hpp"

#include <cmwq/attrs.hpp>
#include <cmwq/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cmwq_test {
class fake_threads;
}

namespace soak {

class host {
public:
    /// Makes a runtime with random options.
    explicit host(stress::random& r);
    ~host();
    host(const host&) = delete;
    host& operator=(const host&) = delete;

    [[nodiscard]] cmwq::runtime& runtime() { return *runtime_; }
    [[nodiscard]] const std::vector<unsigned>& cpus() const { return cpus_; }
    [[nodiscard]] unsigned some_cpu(stress::random& r) const;
    [[nodiscard]] unsigned nr_nodes() const { return nr_nodes_; }
    /// True: the runtime uses the real machine, so its threads are bound to existing CPUs.
    [[nodiscard]] bool is_real() const { return real_; }
    [[nodiscard]] bool is_power_efficient() const { return power_efficient_; }
    /// 0: any number. With a limit, items must not wait for each other, because waiting items might occupy all threads.
    [[nodiscard]] unsigned max_threads() const { return max_threads_; }
    [[nodiscard]] const std::string& description() const { return description_; }

    void set_unbound_cpus(stress::random& r);
    void set_default_scope(stress::random& r);
    void refresh_topology();
    void freeze();
    void thaw();
    /// Waits for at most `time`.
    [[nodiscard]] bool wait_frozen(std::chrono::microseconds time);
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] std::string dump() const;

    struct counts {
        std::uint64_t started, completed;
        unsigned threads, peak_threads;
    };
    [[nodiscard]] counts stats() const;

private:
    std::unique_ptr<cmwq_test::fake_threads> threads_;
    std::unique_ptr<cmwq::runtime> runtime_;
    std::vector<unsigned> cpus_;
    std::string description_;
    unsigned nr_nodes_ = 1;
    bool real_ = true;
    bool power_efficient_ = false;
    unsigned max_threads_ = 0;
};

/// Random attributes. apply() refuses some of them.
[[nodiscard]] cmwq::attrs some_attrs(stress::random& r, const std::vector<unsigned>& cpus);

} // namespace soak
