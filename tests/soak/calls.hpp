// SPDX-License-Identifier: BSL-1.0
//
// Calls that queue an item, chosen at random, with a check of their results.
#pragma once

#include "queues.hpp"

#include <cmwq/delayed_work.hpp>

#include <chrono>
#include <system_error>
#include <utility>

namespace soak {

[[nodiscard]] cmwq::queue_status submit(const host& h, any_queue& q, cmwq::work_base& w);
[[nodiscard]] cmwq::queue_status submit_after(const host& h, any_queue& q, cmwq::delayed_work_base& w,
                                              std::chrono::microseconds delay);
[[nodiscard]] cmwq::queue_status modify(any_queue& q, cmwq::delayed_work_base& w, std::chrono::microseconds delay);

/// Calls `f`, which must throw std::system_error with `error` or with `or_this`.
template <class F>
void expect_refusal(complaints& c, F&& f, std::errc error, std::errc or_this, const char* what) {
    try {
        std::forward<F>(f)();
    } catch (const std::system_error& e) {
        c.expect(e.code() == error || e.code() == or_this, what);
        return;
    }
    c.add(what);
}

} // namespace soak
