// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace blockmix {

namespace {

class asio_running final : public running {
public:
    asio_running(const load& l, progress& p, unsigned threads)
        : threads_(threads), pool_(threads), items_(l, p, [this](unsigned i) {
              boost::asio::post(pool_, [this, i] { items_.run(i, [](auto&& block) { block(); }); });
          }) {
        items_.begin();
    }

    void finish() override {
        items_.end();
        pool_.join();
    }
    [[nodiscard]] unsigned peak_threads() const override { return threads_; }

private:
    unsigned threads_;
    boost::asio::thread_pool pool_;
    items items_;
};

} // namespace

contender asio_contender(unsigned threads) {
    return {"asio-" + std::to_string(threads), [threads](const load& l, progress& p) {
                return std::unique_ptr<running>{std::make_unique<asio_running>(l, p, threads)};
            }};
}

} // namespace blockmix
