// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

namespace blockmix {

/// The thread outside the pool: it starts each item again that has ended.
class submitter {
public:
    explicit submitter(const std::function<void(unsigned)>& start) : thread_([this, &start] { work(start); }) {}
    ~submitter() { end(); }
    submitter(const submitter&) = delete;
    submitter& operator=(const submitter&) = delete;

    void hand_in(unsigned i) {
        {
            const std::lock_guard g(lock_);
            ready_.push_back(i);
        }
        waiting_.release();
    }

    void end() {
        if (!thread_.joinable()) return;
        stop_.store(true, std::memory_order_relaxed);
        waiting_.release();
        thread_.join();
    }

private:
    void work(const std::function<void(unsigned)>& start) {
        for (;;) {
            waiting_.acquire();
            if (stop_.load(std::memory_order_relaxed)) return;
            unsigned i = 0;
            {
                const std::lock_guard g(lock_);
                i = ready_.back();
                ready_.pop_back();
            }
            start(i);
        }
    }

    std::mutex lock_;
    std::vector<unsigned> ready_;
    std::counting_semaphore<> waiting_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

items::items(const load& l, progress& p, std::function<void(unsigned)> start)
    : load_(l), progress_(p), start_([this, start = std::move(start)](unsigned i) {
          progress_.started.fetch_add(1, std::memory_order_relaxed);
          start(i);
      }) {}

items::~items() = default;

void items::begin() {
    if (load_.external) outside_ = std::make_unique<submitter>(start_);
    for (unsigned i = 0; i < load_.outstanding; ++i) again(i);
}

void items::again(unsigned i) {
    if (outside_ != nullptr) outside_->hand_in(i);
    else start_(i);
}

void items::end() {
    if (outside_ != nullptr) outside_->end();
}

} // namespace blockmix
