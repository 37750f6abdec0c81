// SPDX-License-Identifier: BSL-1.0
//
// Fork and join on a queue of cmwq.
#pragma once

#include <cmwq/task_group.hpp>

#include <utility>

namespace bench {

template <class Pool>
class cmwq_group {
public:
    explicit cmwq_group(Pool& pool) : group_(pool.queue()) {}
    template <class F>
    void run(F&& f) {
        group_.run(std::forward<F>(f));
    }
    void wait() { group_.wait(); }

private:
    cmwq::task_group group_;
};

} // namespace bench
