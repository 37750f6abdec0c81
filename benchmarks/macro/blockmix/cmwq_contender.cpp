// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

#include <cmwq/cmwq.hpp>

#include <deque>

namespace blockmix {

namespace {

/// Bound: each item has a fixed CPU, assigned in turn. Elastic: the items are queued without a CPU.
template <class Policy>
class cmwq_running final : public running {
public:
    cmwq_running(const load& l, progress& p, bool annotated)
        : annotated_(annotated), items_(l, p, [this](unsigned i) { start(works_[i]); }) {
        const cmwq::cpuset cpus = runtime_.cpus();
        auto cpu = cpus.begin();
        for (unsigned i = 0; i < l.outstanding; ++i) {
            works_.emplace_back(*this, i, *cpu);
            if (++cpu == cpus.end()) cpu = cpus.begin();
        }
        items_.begin();
    }

    // The destructor of a queue ends the program if an item of the queue runs it; no item does that here.
    ~cmwq_running() noexcept override = default;

    void finish() override {
        items_.end();
        queue_.drain();
    }
    [[nodiscard]] unsigned peak_threads() const override { return runtime_.stats().peak_threads; }

private:
    struct item {
        item(cmwq_running& r, unsigned i, unsigned c) : owner(r), index(i), cpu(c) {}
        void run() {
            owner.items_.run(index, [this](auto&& block) {
                if (!owner.annotated_) return block();
                const cmwq::blocking_region region;
                block();
            });
        }

        cmwq_running& owner;
        unsigned index;
        unsigned cpu;
        cmwq::work_member<&item::run> work{*this};
    };

    void start(item& i) {
        if constexpr (Policy::pool == cmwq::pool_kind::per_cpu) queue_.queue_on(i.cpu, i.work);
        else queue_.queue(i.work);
    }

    const bool annotated_;
    cmwq::runtime runtime_;
    cmwq::workqueue<Policy> queue_{runtime_, {.name = "blockmix"}};
    std::deque<item> works_;
    items items_;
};

} // namespace

contender cmwq_contender(bool annotated) {
    return {annotated ? "cmwq-annotated" : "cmwq", [annotated](const load& l, progress& p) {
                return std::unique_ptr<running>{std::make_unique<cmwq_running<cmwq::bound>>(l, p, annotated)};
            }};
}

contender elastic_contender() {
    return {"elastic", [](const load& l, progress& p) {
                return std::unique_ptr<running>{std::make_unique<cmwq_running<cmwq::elastic>>(l, p, false)};
            }};
}

} // namespace blockmix
