// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"
#include "support/cpus.hpp"

#include <BS_thread_pool.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace bench {

/// BS::thread_pool, version 4 or later, with a thread for each CPU.
class bs_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<bs_pool>;
    using nested_group = helping_group<bs_pool>;

    ~bs_pool() { pool_.wait(); }

    [[nodiscard]] static std::string name() { return "BS::thread_pool"; }

    template <class F>
    void post(F&& f) {
        pool_.detach_task(std::forward<F>(f));
    }

private:
    // A class in version 4, a template in version 5.
    using pool_type = decltype(BS::thread_pool(std::size_t{1}));
    pool_type pool_{usable_cpus().size()};
};

} // namespace bench
