// SPDX-License-Identifier: BSL-1.0
//
// A runtime that can be told that the system has no threads left, and what it reports then.
#pragma once

#include <cmwq/runtime.hpp>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <vector>

namespace cmwq_test {

/// Starts threads, or refuses to.
class scarce_threads final : public cmwq::thread_source {
public:
    void refuse() { refuse_ = true; }
    void allow() { refuse_ = false; }
    [[nodiscard]] int refused() const { return refused_; }
    [[nodiscard]] int made() const { return made_; }

    int start(cmwq::detail::thread& t, cmwq::detail::thread_body body, void* arg) noexcept override {
        if (refuse_) {
            ++refused_;
            return EAGAIN;
        }
        const int error = t.start(body, arg);
        if (error == 0) ++made_;
        return error;
    }

private:
    std::atomic<bool> refuse_{false};
    std::atomic<int> refused_{0}, made_{0};
};

/// Starts threads; while it stalls, each call stays where it is.
class stalling_threads final : public cmwq::thread_source {
public:
    ~stalling_threads() { go_on(); }
    void stall() {
        const std::lock_guard g(lock_);
        stalls_ = true;
    }
    void go_on() {
        {
            const std::lock_guard g(lock_);
            stalls_ = false;
        }
        goes_on_.notify_all();
    }
    [[nodiscard]] int nr_stalled() const { return nr_stalled_; } ///< calls that are inside

    int start(cmwq::detail::thread& t, cmwq::detail::thread_body body, void* arg) noexcept override {
        {
            std::unique_lock g(lock_);
            ++nr_stalled_;
            goes_on_.wait(g, [&] { return !stalls_; });
            --nr_stalled_;
        }
        return t.start(body, arg);
    }

private:
    std::mutex lock_;
    std::condition_variable goes_on_;
    bool stalls_ = false;
    std::atomic<int> nr_stalled_{0};
};

/// For `runtime_options::on_event`: keeps what it is told. It outlives the runtime.
class event_log {
public:
    auto listener() {
        return [this](const cmwq::event& e) {
            const std::lock_guard g(lock_);
            events_.push_back(e);
        };
    }
    [[nodiscard]] int count(cmwq::event::kind what) const {
        const std::lock_guard g(lock_);
        int n = 0;
        for (const cmwq::event& e : events_) n += e.what == what ? 1 : 0;
        return n;
    }
    /// The last one of its kind; none: of kind `what` with nothing in it.
    [[nodiscard]] cmwq::event last(cmwq::event::kind what) const {
        const std::lock_guard g(lock_);
        cmwq::event found{what, 0, 0, {}};
        for (const cmwq::event& e : events_) {
            if (e.what == what) found = e;
        }
        return found;
    }

private:
    mutable std::mutex lock_;
    std::vector<cmwq::event> events_;
};

/// A runtime without a single worker, until somebody queues an item while threads may be made.
struct scarce_runtime {
    scarce_threads threads;
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
};

/// Options of a queue that has a rescuer.
template <class P>
cmwq::options<P> with_rescuer(std::string_view name = "rescued") {
    cmwq::options<P> o;
    o.name = name;
    o.rescuer = true;
    return o;
}

} // namespace cmwq_test
