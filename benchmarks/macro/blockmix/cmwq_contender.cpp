// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

#include <cmwq/cmwq.hpp>

#include <deque>

namespace blockmix {

namespace {

class cmwq_running;

class item {
public:
    item(cmwq_running& owner, unsigned cpu) : owner_(owner), cpu_(cpu) {}
    void start();

private:
    void run();

    cmwq_running& owner_;
    unsigned cpu_;
    cmwq::work_member<&item::run> work_{*this};
};

class cmwq_running final : public running {
public:
    cmwq_running(const load& l, progress& p, bool annotated) : load_(l), progress_(p), annotated_(annotated) {
        const cmwq::cpuset cpus = runtime_.cpus();
        auto cpu = cpus.begin();
        for (unsigned i = 0; i < load_.outstanding; ++i) {
            items_.emplace_back(*this, *cpu).start();
            if (++cpu == cpus.end()) cpu = cpus.begin();
        }
    }

    // A queue may refuse to be destroyed by one of its own items; nobody does that here.
    ~cmwq_running() noexcept override = default;

    void finish() override { queue_.drain(); }
    [[nodiscard]] unsigned peak_threads() const override { return runtime_.stats().peak_threads; }

private:
    friend class item;

    const load& load_;
    progress& progress_;
    const bool annotated_;
    cmwq::runtime runtime_;
    cmwq::workqueue<> queue_{runtime_, {.name = "blockmix"}};
    std::deque<item> items_;
};

void item::start() { owner_.queue_.queue_on(cpu_, work_); }

void item::run() {
    const load& l = owner_.load_;
    l.compute();
    if (owner_.annotated_) {
        const cmwq::blocking_region region;
        l.block();
    } else {
        l.block();
    }
    l.compute();
    owner_.progress_.done.fetch_add(1, std::memory_order_relaxed);
    if (!owner_.progress_.stop.load(std::memory_order_relaxed)) start();
}

} // namespace

contender cmwq_contender(bool annotated) {
    return {annotated ? "cmwq-annotated" : "cmwq", [annotated](const load& l, progress& p) {
                return std::unique_ptr<running>{std::make_unique<cmwq_running>(l, p, annotated)};
            }};
}

} // namespace blockmix
