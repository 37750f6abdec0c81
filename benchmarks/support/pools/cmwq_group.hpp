// SPDX-License-Identifier: BSL-1.0
//
// Fork and join on a queue of cmwq: cmwq::task_group, or the groups for pools that offer none.
#pragma once

#if __has_include(<cmwq/task_group.hpp>)
#include <cmwq/task_group.hpp>

#include <utility>

namespace bench {

template <class Pool>
class cmwq_flat_group {
public:
    explicit cmwq_flat_group(Pool& pool) : group_(pool.queue()) {}
    template <class F>
    void run(F&& f) {
        group_.run(std::forward<F>(f));
    }
    void wait() { group_.wait(); }

private:
    cmwq::task_group group_;
};

template <class Pool>
using cmwq_nested_group = cmwq_flat_group<Pool>;

} // namespace bench
#else
#include "counted_group.hpp"
#include "helping_group.hpp"

namespace bench {

template <class Pool>
using cmwq_flat_group = counted_group<Pool>;
template <class Pool>
using cmwq_nested_group = helping_group<Pool>;

} // namespace bench
#endif
