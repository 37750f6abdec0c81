// SPDX-License-Identifier: BSL-1.0
#include "cpus.hpp"
#include "pool.hpp"

// The same library exists under two names: as a part of Boost, and standalone.
#if __has_include(<boost/asio/thread_pool.hpp>)
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
namespace asio = boost::asio;
#else
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#endif

namespace treehash {

namespace {

class asio_pool final : public pool {
public:
    explicit asio_pool(unsigned threads) : threads_(threads), pool_(threads) {}

    void run(job& j) override {
        asio::post(pool_,
                   [&] { j.walk([&](file_record& record) { asio::post(pool_, [&record] { record.hash(); }); }); });
        pool_.join();
    }

    [[nodiscard]] pool_figures figures() const override { return {.peak_threads = threads_}; }

private:
    unsigned threads_;
    asio::thread_pool pool_;
};

} // namespace

std::unique_ptr<pool> make_asio_pool(const options& o) {
    return std::make_unique<asio_pool>(o.threads != 0 ? o.threads : usable_cpus());
}

} // namespace treehash
