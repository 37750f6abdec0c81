// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace blockmix {

namespace {

class asio_running final : public running {
public:
    asio_running(const load& l, progress& p, unsigned threads)
        : load_(l), progress_(p), threads_(threads), pool_(threads) {
        for (unsigned i = 0; i < load_.outstanding; ++i) start();
    }

    void finish() override { pool_.join(); }
    [[nodiscard]] unsigned peak_threads() const override { return threads_; }

private:
    void start() {
        boost::asio::post(pool_, [this] { run(); });
    }

    void run() {
        load_.compute();
        load_.block();
        load_.compute();
        progress_.done.fetch_add(1, std::memory_order_relaxed);
        if (!progress_.stop.load(std::memory_order_relaxed)) start();
    }

    const load& load_;
    progress& progress_;
    unsigned threads_;
    boost::asio::thread_pool pool_;
};

} // namespace

contender asio_contender(unsigned threads) {
    return {"asio-" + std::to_string(threads), [threads](const load& l, progress& p) {
                return std::unique_ptr<running>{std::make_unique<asio_running>(l, p, threads)};
            }};
}

} // namespace blockmix
