// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cmwq_group.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/workqueue.hpp>

#include <string>
#include <utility>

namespace bench {

/// A queue with default options, on a runtime of its own.
template <class Policy>
class cmwq_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = cmwq_group<cmwq_pool>;
    using nested_group = cmwq_group<cmwq_pool>;

    [[nodiscard]] static std::string name() { return "cmwq " + std::string(Policy::name); }

    template <class F>
    void post(F&& f) {
        queue_.post(std::forward<F>(f));
    }
    [[nodiscard]] cmwq::workqueue<Policy>& queue() noexcept { return queue_; }
    [[nodiscard]] cmwq::runtime& runtime() noexcept { return runtime_; }

private:
    cmwq::runtime runtime_;
    cmwq::workqueue<Policy> queue_{runtime_, "suite"};
};

} // namespace bench
