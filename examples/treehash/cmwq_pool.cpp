// SPDX-License-Identifier: BSL-1.0
#include "pool.hpp"

#include <cmwq/cmwq.hpp>

namespace treehash {

namespace {

class cmwq_pool final : public pool {
public:
    explicit cmwq_pool(const options& o)
        : runtime_({.control = o.watched}),
          queue_(runtime_, {.name = "treehash",
                            .max_active = o.max_active != 0 ? o.max_active : cmwq::bound::default_max_active}) {}

    // The destructor of a queue ends the program if an item of the queue runs it; no item does that here.
    ~cmwq_pool() noexcept override = default;

    void run(job& j) override {
        const cmwq::cpuset cpus = runtime_.cpus();
        auto next = cpus.begin();
        cmwq::work walk{[&] {
            j.walk([&](file_record& record) {
                queue_.queue_on(*next, record.item);
                if (++next == cpus.end()) next = cpus.begin();
            });
        }};
        queue_.queue(walk);
        queue_.drain(); // also waits for the items that the items of this queue have queued
    }

    [[nodiscard]] pool_figures figures() const override {
        const cmwq::runtime_stats s = runtime_.stats();
        return {s.peak_threads, s.blocks_by_guard, s.blocks_by_sentinel, s.blocks_by_monitor};
    }

private:
    cmwq::runtime runtime_;
    cmwq::workqueue<> queue_;
};

} // namespace

std::unique_ptr<pool> make_cmwq_pool(const options& o) { return std::make_unique<cmwq_pool>(o); }

} // namespace treehash
