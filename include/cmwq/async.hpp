// SPDX-License-Identifier: BSL-1.0
//
// workqueue::async(): a future of what the callable returns. Apart from workqueue.hpp because <future> is heavy.
#pragma once

#include <cmwq/workqueue.hpp>

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cmwq::inline CMWQ_NS {

/// What `queue.async(f)` calls. An exception that leaves `f` goes to the future, not to the queue's `on_exception`.
template <class F>
[[nodiscard]] auto make_async(workqueue_base& q, F&& f) {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    struct task {
        std::promise<result> promise;
        std::decay_t<F> f;

        void operator()() {
            try {
                if constexpr (std::is_void_v<result>) {
                    f();
                    promise.set_value();
                } else {
                    promise.set_value(f());
                }
            } catch (...) {
                promise.set_exception(std::current_exception());
            }
        }
    };
    task t{{}, std::forward<F>(f)};
    std::future<result> future = t.promise.get_future();
    if (q.post(std::move(t)) != queue_status::queued) {
        std::promise<result> refused;
        refused.set_exception(std::make_exception_ptr(std::system_error(
            std::make_error_code(std::errc::operation_canceled), "cmwq: the queue does not accept items")));
        return refused.get_future();
    }
    return future;
}

} // namespace cmwq::inline CMWQ_NS
