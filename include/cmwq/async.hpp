// SPDX-License-Identifier: BSL-1.0
//
// The body of workqueue_base::async(). It is not in workqueue.hpp because the header `future` takes long to compile.
#pragma once

#include <cmwq/workqueue.hpp>

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

/// Implements `workqueue_base::async()`, which calls it. An exception that leaves `f` goes to the future, not to the
/// queue's `on_exception`. Thread safety: any thread. Blocks: no. Errors: an exception that copying or moving `f`
/// throws, std::bad_alloc. A queue that rejects the item makes the future throw std::system_error(operation_canceled).
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
                if (std::current_exception() == nullptr) throw; // no exception: pthread_exit() unwinds the stack
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

}} // namespace cmwq::CMWQ_NS
