// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"

#include <concurrencpp/concurrencpp.h>

#include <memory>
#include <string>
#include <utility>

namespace bench {

/// The thread pool executor of a concurrencpp runtime.
class concurrencpp_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<concurrencpp_pool>;
    using nested_group = helping_group<concurrencpp_pool>;

    [[nodiscard]] static std::string name() { return "concurrencpp"; }

    template <class F>
    void post(F&& f) {
        executor_->post(std::forward<F>(f));
    }

private:
    concurrencpp::runtime runtime_;
    std::shared_ptr<concurrencpp::thread_pool_executor> executor_ = runtime_.thread_pool_executor();
};

} // namespace bench
