// SPDX-License-Identifier: BSL-1.0
//
// A queue whose items wait for each other until the test resolves that.
#pragma once

#include <cmwq/runtime.hpp>
#include <cmwq/work.hpp>
#include <cmwq/workqueue.hpp>

#include <functional>

namespace cmwq_test {

/// An ordered queue whose item flushes the one behind it. The test calls resolve() when the runtime has reported that.
class deadlocked_queue {
public:
    deadlocked_queue(cmwq::runtime& rt, const char* name) : q_(rt, name) { q_.queue(first_); }
    void resolve() {
        second_.cancel();
        first_.flush();
    }

private:
    cmwq::workqueue<cmwq::ordered> q_;
    cmwq::work<std::function<void()>> second_{[] {}}, first_{[this] {
        q_.queue(second_);
        second_.flush();
    }};
};

} // namespace cmwq_test
