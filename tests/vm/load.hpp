// SPDX-License-Identifier: BSL-1.0
//
// Queues of all policies and producers that queue items all the time, while CPUs go offline and online.
#pragma once

#include "stress.hpp"
#include "vm/machine.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace vm {

/// A queue with the numbers of accepted and of finished items. At the end these numbers are equal.
class counted_queue {
public:
    counted_queue(notes& n, const cmwq::runtime& rt, cmwq::workqueue_base& q, bool may_block = true)
        : q_(q), may_block_(may_block), what_(q.name()), cpus_(rt.cpus().begin(), rt.cpus().end()), notes_(n) {}

    /// Queues an item on any CPU.
    void queue_any(stress::random& r) {
        const unsigned cpu = cpus_[r.below(static_cast<unsigned>(cpus_.size()))];
        switch (r.below(8)) {
        case 0: count(q_.queue(shared_[r.below(2)]->item)); break;
        case 1: count(q_.queue_on(cpu, shared_[r.below(2)]->item)); break;
        case 2: count(q_.queue_after(std::chrono::microseconds{r.below(3000)}, later_.item)); break;
        case 3: count(q_.queue_after_on(cpu, std::chrono::microseconds{r.below(3000)}, later_.item)); break;
        default: {
            const unsigned how = r.below(32);
            const auto work = [this, how] {
                do_something(how);
                ++ran_;
            };
            count(r.one_in(2) ? q_.post_on(cpu, work) : q_.post(work));
        }
        }
    }
    /// Whether producers should wait because too many items are pending.
    [[nodiscard]] bool is_full() const { return queued_ > ran_ + 32; }
    [[nodiscard]] std::uint64_t ran() const { return ran_; }
    [[nodiscard]] const std::string& what() const { return what_; }

    /// Checks that all items have run. Call it when no thread queues any more and the queue has drained.
    void check() {
        notes_.same(what_ + ": items that have run", std::to_string(ran_), std::to_string(queued_));
        const cmwq::queue_stats s = q_.stats();
        notes_.same(what_ + ": started", std::to_string(s.started), std::to_string(queued_));
        notes_.same(what_ + ": completed", std::to_string(s.completed), std::to_string(queued_));
    }

private:
    struct never_twice {
        counted_queue& q;
        std::atomic<bool> inside{false};
        struct call {
            never_twice& self;
            void operator()() {
                self.q.notes_.expect(!self.inside.exchange(true), self.q.what_ + ": an item runs twice at once");
                stress::burn(300);
                self.inside = false;
                ++self.q.ran_;
            }
        };
        cmwq::delayed_work<call> item{call{*this}};
        explicit never_twice(counted_queue& of) : q(of) {}
    };

    void count(cmwq::queue_status s) {
        if (s == cmwq::queue_status::queued) ++queued_;
        else notes_.expect(s == cmwq::queue_status::already_pending, what_ + ": refuses an item");
    }
    void do_something(unsigned how) const {
        if (how == 0 && may_block_) stress::block_for(std::chrono::microseconds{300});
        else if (how == 1 && may_block_) cmwq::blocking([] { stress::block_for(std::chrono::microseconds{300}); });
        else stress::burn(how * 50);
    }

    cmwq::workqueue_base& q_;
    const bool may_block_;
    const std::string what_;
    const std::vector<unsigned> cpus_;
    notes& notes_;
    std::atomic<std::uint64_t> queued_{0}, ran_{0};
    const std::unique_ptr<never_twice> shared_[2]{std::make_unique<never_twice>(*this),
                                                  std::make_unique<never_twice>(*this)};
    never_twice later_{*this};
};

/// Queues of all policies and their producers.
class load {
public:
    explicit load(cmwq::runtime& rt, unsigned nr_producers = 4)
        : rt_(rt), bound_(rt, "bound"), high_(rt, {.name = "high", .priority = cmwq::priority::high}),
          by_cpu_(rt, {.name = "by cpu", .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu).strict(true)}),
          by_node_(rt, {.name = "by node",
                        .max_active = 6,
                        .min_active = 2,
                        .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::numa)}),
          elastic_(rt, {.name = "elastic", .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::cache)}),
          ordered_(rt, "ordered"), bh_(rt, "bh") {
        for (unsigned i = 0; i < nr_producers; ++i) producers_.emplace_back([this, i] { produce(i); });
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load() { stop(); }

    /// Waits until every queue has run an item since the call. False: a queue has not.
    [[nodiscard]] bool goes_on() {
        std::vector<std::uint64_t> before;
        for (const auto& q : queues_) before.push_back(q->ran());
        const std::size_t in_order = nr_ran_in_order_;
        return eventually([&] {
            bool all = nr_ran_in_order_ > in_order;
            for (std::size_t i = 0; i < queues_.size(); ++i) all &= queues_[i]->ran() > before[i];
            return all;
        });
    }

    /// Ends the producers, drains the queues and compares the counts. Differences are in `complaints`.
    void stop() {
        stop_ = true;
        for (std::thread& t : producers_) t.join();
        if (producers_.empty()) return;
        producers_.clear();
        bound_.drain();
        high_.drain();
        by_cpu_.drain();
        by_node_.drain();
        elastic_.drain();
        bh_.drain();
        ordered_.drain();
        for (auto& q : queues_) q->check();
        complaints.same("ordered: items that have run", std::to_string(nr_ran_in_order_), std::to_string(next_));
    }

    notes complaints;

private:
    void produce(unsigned number) {
        stress::random r(number);
        while (!stop_) {
            counted_queue& q = *queues_[r.below(static_cast<unsigned>(queues_.size()))];
            while (q.is_full() && !stop_) stress::block_for(std::chrono::microseconds{500}); // lets the items run
            q.queue_any(r);
            if (r.one_in(4)) queue_in_order(r);
        }
    }

    void queue_in_order(stress::random& r) {
        const std::lock_guard g(turn_);
        if (next_ > nr_ran_in_order_ + 48) return;
        const std::uint64_t number = next_;
        const auto work = [this, number] {
            // `expected_` is not atomic: one item runs at a time and sees the writes of the previous one.
            complaints.expect(expected_ == number,
                              "ordered: " + std::to_string(number) + " instead of " + std::to_string(expected_));
            expected_ = number + 1;
            if (number % 4 == 0) stress::block_for(std::chrono::microseconds{200}); // some items always wait
            ++nr_ran_in_order_;
        };
        const unsigned cpu = cpus_[r.below(static_cast<unsigned>(cpus_.size()))];
        if ((r.one_in(2) ? ordered_.post_on(cpu, work) : ordered_.post(work)) == cmwq::queue_status::queued) ++next_;
        else complaints.add("ordered: refuses an item");
    }

    cmwq::runtime& rt_;
    const std::vector<unsigned> cpus_{rt_.cpus().begin(), rt_.cpus().end()};
    cmwq::workqueue<> bound_, high_;
    cmwq::workqueue<cmwq::unbound> by_cpu_, by_node_;
    cmwq::workqueue<cmwq::elastic> elastic_;
    cmwq::workqueue<cmwq::ordered> ordered_;
    cmwq::workqueue<cmwq::bh> bh_;
    std::array<std::unique_ptr<counted_queue>, 6> queues_{std::make_unique<counted_queue>(complaints, rt_, bound_),
                                                          std::make_unique<counted_queue>(complaints, rt_, high_),
                                                          std::make_unique<counted_queue>(complaints, rt_, by_cpu_),
                                                          std::make_unique<counted_queue>(complaints, rt_, by_node_),
                                                          std::make_unique<counted_queue>(complaints, rt_, elastic_),
                                                          std::make_unique<counted_queue>(complaints, rt_, bh_, false)};
    std::mutex turn_;
    std::atomic<std::uint64_t> next_{0}, nr_ran_in_order_{0};
    std::uint64_t expected_ = 0;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> producers_;
};

} // namespace vm
