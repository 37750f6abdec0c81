// SPDX-License-Identifier: BSL-1.0
//
// too_deep: a wait that must not run tasks.
#pragma once

#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>

namespace cmwq_test {

/// The calling item waits as if it were nested too deeply to run tasks itself.
class too_deep {
public:
    too_deep() : limit_before_(self_.stack_limit) {
        ++self_.nr_nested;
        self_.stack_limit = UINTPTR_MAX; // no stack is left
    }
    ~too_deep() {
        --self_.nr_nested;
        self_.stack_limit = limit_before_;
    }
    too_deep(const too_deep&) = delete;
    too_deep& operator=(const too_deep&) = delete;

private:
    cmwq::detail::run_record& self_ = *cmwq::detail::this_thread_slots().current_run;
    const std::uintptr_t limit_before_;
};

} // namespace cmwq_test
