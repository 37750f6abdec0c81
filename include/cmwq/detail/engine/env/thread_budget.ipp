// SPDX-License-Identifier: BSL-1.0
//
// The bodies of thread_budget.

#include <cmwq/detail/engine/env/thread_budget.hpp>

#include <cerrno>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE int thread_budget::start(thread& t, thread_body body, void* arg) noexcept {
    thread_request request(t, body, arg);
    const int error = source_ != nullptr ? source_->start(request) : request.start();
    refused_.store(error == EAGAIN || error == ENOMEM, relaxed);
    if (error == 0) expects_place_.store(false, relaxed);
    return error;
}

CMWQ_INLINE bool thread_budget::admit_worker() noexcept {
    if (max_workers_ == 0) {
        nr_workers_.fetch_add(1, relaxed);
        return true;
    }
    unsigned n = nr_workers_.load(relaxed);
    do {
        if (n >= max_workers_) return false;
    } while (!nr_workers_.compare_exchange_weak(n, n + 1, acquire, relaxed)); // [ADMIT-1]
    return true;
}

CMWQ_INLINE void thread_budget::thread_started() noexcept {
    const unsigned n = nr_threads_.fetch_add(1, relaxed) + 1;
    unsigned peak = peak_threads_.load(relaxed);
    while (peak < n && !peak_threads_.compare_exchange_weak(peak, n, relaxed, relaxed)) {}
}

}}} // namespace cmwq::CMWQ_NS::detail
