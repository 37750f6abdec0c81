// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"
#include "support/cpus.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <string>
#include <utility>

namespace bench {

/// Boost.Asio's thread_pool with a thread for each CPU.
class asio_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<asio_pool>;
    using nested_group = helping_group<asio_pool>;

    asio_pool() : pool_(usable_cpus().size()) {}
    ~asio_pool() { pool_.join(); }
    asio_pool(const asio_pool&) = delete;
    asio_pool& operator=(const asio_pool&) = delete;

    [[nodiscard]] static std::string name() { return "Boost.Asio"; }

    template <class F>
    void post(F&& f) {
        boost::asio::post(pool_, std::forward<F>(f));
    }
    [[nodiscard]] boost::asio::thread_pool& context() noexcept { return pool_; }

private:
    boost::asio::thread_pool pool_;
};

} // namespace bench
