// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"
#include "support/cpus.hpp"

#include <exec/start_detached.hpp>
#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace bench {

/// The static thread pool of stdexec with a thread for each CPU; each item is a detached sender.
class stdexec_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<stdexec_pool>;
    using nested_group = helping_group<stdexec_pool>;

    [[nodiscard]] static std::string name() { return "stdexec"; }

    template <class F>
    void post(F&& f) {
        exec::start_detached(stdexec::schedule(pool_.get_scheduler()) | stdexec::then(std::forward<F>(f)));
    }

private:
    exec::static_thread_pool pool_{static_cast<std::uint32_t>(usable_cpus().size())};
};

} // namespace bench
