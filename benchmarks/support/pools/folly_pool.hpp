// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"
#include "support/cpus.hpp"

#include <folly/executors/CPUThreadPoolExecutor.h>

#include <string>
#include <utility>

namespace bench {

/// folly::CPUThreadPoolExecutor with a thread for each CPU.
class folly_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<folly_pool>;
    using nested_group = helping_group<folly_pool>;

    ~folly_pool() { pool_.join(); }

    [[nodiscard]] static std::string name() { return "folly"; }

    template <class F>
    void post(F&& f) {
        pool_.add(std::forward<F>(f));
    }

private:
    folly::CPUThreadPoolExecutor pool_{usable_cpus().size()};
};

} // namespace bench
