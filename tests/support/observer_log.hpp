// SPDX-License-Identifier: BSL-1.0
//
// An observer that remembers everything it is told.
#pragma once

#include <cmwq/observer.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cmwq_test {

/// It must be detached before it is destroyed, or outlive the runtime.
class observer_log final : public cmwq::observer {
public:
    struct entry {
        std::string what; ///< of a block, with its reason
        std::int64_t time = 0;
        std::string queue = {}, policy = {};
        unsigned pool = 0;
        const void* item = nullptr;
        void (*function)(cmwq::work_base&) = nullptr;
        std::int64_t cpu_time = 0;
        unsigned worker = 0;
        std::thread::id thread = {}; ///< that was told
    };

    [[nodiscard]] std::vector<entry> all() const {
        const std::lock_guard g(lock_);
        return entries_;
    }
    [[nodiscard]] std::vector<entry> of(const void* item) const {
        std::vector<entry> found;
        for (const entry& e : all()) {
            if (e.item == item) found.push_back(e);
        }
        return found;
    }
    /// What has happened to the item, in the order in which the observer was told.
    [[nodiscard]] std::string story(const void* item) const {
        std::string s;
        for (const entry& e : of(item)) s += (s.empty() ? "" : ", ") + e.what;
        return s;
    }
    [[nodiscard]] std::size_t count(std::string_view what) const {
        std::size_t n = 0;
        for (const entry& e : all()) n += e.what == what ? 1 : 0;
        return n;
    }

    void queued(const cmwq::item_event& e) noexcept override { add("queued", e); }
    void cancelled(const cmwq::item_event& e) noexcept override { add("cancelled", e); }
    void started(const cmwq::item_event& e) noexcept override { add("started", e); }
    void ended(const cmwq::item_event& e) noexcept override { add("ended", e); }
    void blocked(const cmwq::item_event& e, cmwq::block_reason why) noexcept override {
        constexpr const char* reasons[] = {"announced", "waiting", "sentinel", "monitor"};
        add(std::string("blocked: ") + reasons[static_cast<unsigned>(why)], e);
    }
    void unblocked(const cmwq::item_event& e) noexcept override { add("unblocked", e); }
    void worker_created(const cmwq::worker_event& e) noexcept override { add("worker_created", e); }
    void worker_woken(const cmwq::worker_event& e) noexcept override { add("worker_woken", e); }
    void worker_ended(const cmwq::worker_event& e) noexcept override { add("worker_ended", e); }
    void mayday(const cmwq::queue_event& e) noexcept override { add(of_queue("mayday", e)); }
    void reported(const cmwq::event& e) noexcept override { add({.what = "reported: " + e.message}); }

private:
    static entry of_queue(std::string what, const cmwq::queue_event& e) {
        return {.what = std::move(what),
                .time = e.time,
                .queue = std::string(e.queue),
                .policy = std::string(e.policy),
                .pool = e.pool};
    }
    void add(std::string what, const cmwq::item_event& e) {
        entry one = of_queue(std::move(what), e);
        one.item = e.item;
        one.function = e.function;
        one.cpu_time = e.cpu_time;
        add(std::move(one));
    }
    void add(std::string what, const cmwq::worker_event& e) {
        add({.what = std::move(what), .time = e.time, .pool = e.pool, .worker = e.worker});
    }
    void add(entry one) {
        one.thread = std::this_thread::get_id();
        const std::lock_guard g(lock_);
        entries_.push_back(std::move(one));
    }

    mutable std::mutex lock_;
    std::vector<entry> entries_;
};

} // namespace cmwq_test
