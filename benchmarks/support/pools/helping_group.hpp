// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bench {

/// Fork and join inside the items of a pool that offers none. wait() runs the newest functions of its group that have
/// not started, and blocks only while other threads run the rest. So a pool of any fixed size reaches the end of a
/// recursion. One thread uses a group: the one that made it.
template <class Pool>
class helping_group {
public:
    explicit helping_group(Pool& pool) : pool_(pool) {}
    helping_group(const helping_group&) = delete;
    helping_group& operator=(const helping_group&) = delete;

    template <class F>
    void run(F&& f) {
        state_->add(std::forward<F>(f));
        // The item may start after the group has ended: it shares the state.
        pool_.post([state = state_] { state->run_oldest(); });
    }

    void wait() { state_->run_all(); }

private:
    class state {
    public:
        template <class F>
        void add(F&& f) {
            const std::lock_guard g(lock_);
            waiting_.emplace_back(std::forward<F>(f));
            ++unfinished_;
        }

        void run_oldest() {
            std::unique_lock g(lock_);
            if (oldest_ == waiting_.size()) return;
            const std::function<void()> f = std::move(waiting_[oldest_++]);
            run(f, g);
        }

        void run_all() {
            std::unique_lock g(lock_);
            while (oldest_ != waiting_.size()) {
                const std::function<void()> f = std::move(waiting_.back());
                waiting_.pop_back();
                run(f, g);
            }
            ended_.wait(g, [this] { return unfinished_ == 0; });
        }

    private:
        void run(const std::function<void()>& f, std::unique_lock<std::mutex>& g) {
            g.unlock();
            f();
            g.lock();
            if (--unfinished_ == 0) ended_.notify_all();
        }

        std::mutex lock_;
        std::condition_variable ended_;
        std::vector<std::function<void()>> waiting_; // from oldest_ on
        std::size_t oldest_ = 0;
        std::size_t unfinished_ = 0;
    };

    Pool& pool_;
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

} // namespace bench
