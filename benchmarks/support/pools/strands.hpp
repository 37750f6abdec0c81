// SPDX-License-Identifier: BSL-1.0
//
// Queues that run their items one at a time, in order, in several libraries. A set of strands has
//
//     name()            its name in the results
//     Strands(n)        makes n strands on one pool
//     post(i, f)        runs f once, after all items that strand i already has
//
// Users wait for their items before they destroy it. Even then an item of one strand may be in the last instructions of
// post() on another one, so the destructors wait for the threads, or for all strands, before any strand ends.
#pragma once

#include "asio_pool.hpp"
#include "mutex_pool.hpp"

#include <boost/asio/strand.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/workqueue.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class cmwq_strands {
public:
    explicit cmwq_strands(std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) queues_.emplace_back(runtime_, "strand");
    }
    ~cmwq_strands() {
        for (auto& q : queues_) q.flush();
    }
    cmwq_strands(const cmwq_strands&) = delete;
    cmwq_strands& operator=(const cmwq_strands&) = delete;

    [[nodiscard]] static std::string name() { return "cmwq ordered"; }

    template <class F>
    void post(std::size_t i, F&& f) {
        queues_[i].post(std::forward<F>(f));
    }
    [[nodiscard]] cmwq::workqueue<cmwq::ordered>& queue(std::size_t i) noexcept { return queues_[i]; }

private:
    cmwq::runtime runtime_;
    std::deque<cmwq::workqueue<cmwq::ordered>> queues_;
};

class asio_strands {
public:
    explicit asio_strands(std::size_t n) {
        strands_.reserve(n);
        for (std::size_t i = 0; i < n; ++i) strands_.push_back(boost::asio::make_strand(pool_.context()));
    }
    ~asio_strands() { pool_.context().join(); }
    asio_strands(const asio_strands&) = delete;
    asio_strands& operator=(const asio_strands&) = delete;

    [[nodiscard]] static std::string name() { return "Boost.Asio strand"; }

    template <class F>
    void post(std::size_t i, F&& f) {
        boost::asio::post(strands_[i], std::forward<F>(f));
    }

private:
    using strand = boost::asio::strand<boost::asio::thread_pool::executor_type>;
    asio_pool pool_;
    std::vector<strand> strands_;
};

/// A thread, a queue and a mutex for each strand.
class thread_strands {
public:
    explicit thread_strands(std::size_t n) : threads_(n) {}
    ~thread_strands() {
        for (auto& t : threads_) t.join();
    }
    thread_strands(const thread_strands&) = delete;
    thread_strands& operator=(const thread_strands&) = delete;

    [[nodiscard]] static std::string name() { return "a thread each"; }

    template <class F>
    void post(std::size_t i, F&& f) {
        threads_[i].post(std::forward<F>(f));
    }

private:
    std::deque<mutex_pool<1>> threads_;
};

} // namespace bench
