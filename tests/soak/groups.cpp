// SPDX-License-Identifier: BSL-1.0
#include "groups.hpp"

#include "kinds.hpp"
#include "run.hpp"
#include "world.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

using cmwq::queue_status;

namespace soak {

namespace {

/// The tasks of a group. Each task may add others, as long as the budget lasts, and wait for a tree of its own.
class tree {
public:
    tree(world& w, any_queue& q, cmwq::task_group& g, int budget, unsigned depth)
        : w_(w), q_(q), group_(g), depth_(depth), budget_(budget) {}

    void add() {
        if (budget_.fetch_sub(1) <= 0) return;
        const drain_watch drains(q_);
        ++q_.posted;
        ++accepted_; // before the call, because the task may run during it
        const queue_status s = does(op::task, [&] { return group_.run([this] { run(); }); });
        if (s == queue_status::queued) return;
        w_.complain.expect(s == queue_status::rejected && drains.saw_one(), "a task is not accepted", q_.is.kind);
        --accepted_;
        --q_.posted;
        ++nr_rejected_;
    }
    /// Waits for the group. Every waiter sees that all tasks have run.
    void wait() {
        does(op::group_wait, [&] {
            try {
                if (!group_.wait()) ++nr_incomplete_;
            } catch (const planned_exception&) {
                ++nr_caught_;
            }
        });
        w_.complain.expect_equal(ran_, accepted_, "a group ends too early: tasks that ran, that were added",
                                 q_.is.kind);
    }
    /// After all waits.
    void verify() {
        w_.complain.expect(nr_caught_ == (fails_ ? 1u : 0u), "an exception of a task is lost, or comes twice",
                           q_.is.kind);
        w_.complain.expect(nr_incomplete_ == 0u || nr_rejected_ != 0u, "a group has not run all tasks", q_.is.kind);
    }

private:
    void run() {
        const inner_run here(w_, q_);
        if (dice().one_in(4)) stress::burn(dice().below(10'000));
        if (dice().one_in(32)) stress::block_for(std::chrono::microseconds{dice().below(100)});
        for (unsigned n = dice().below(4); n != 0; --n) add();
        // Not in ordered queues, which refuse it, and not in bound ones, where tasks may wait for the limit of another
        // CPU behind items that wait for tasks.
        if (depth_ != 0 && q_.is.has_attrs && q_.is.order != order::whole && dice().one_in(8)) nest();
        ++ran_;
        if (dice().one_in(64)) {
            fails_ = true;
            throw planned_exception{};
        }
    }
    void nest() {
        const std::unique_ptr<cmwq::task_group> inner = q_.make_group();
        tree below(w_, q_, *inner, static_cast<int>(dice().below(16)), depth_ - 1);
        below.add();
        below.wait();
        below.verify();
    }

    world& w_;
    any_queue& q_;
    cmwq::task_group& group_;
    const unsigned depth_;
    std::atomic<int> budget_;
    counter accepted_, ran_, nr_caught_, nr_rejected_, nr_incomplete_;
    std::atomic<bool> fails_{false};
};

} // namespace

void grow_groups(world& w, any_queue& q) {
    const std::unique_ptr<cmwq::task_group> group = q.make_group();
    if (group == nullptr) return;
    tree all(w, q, *group, static_cast<int>(dice().below(200)), 3);
    for (unsigned n = dice().below(8); n != 0; --n) all.add();

    std::vector<std::thread> others;
    for (unsigned n = dice().below(3); n != 0; --n) others.emplace_back([&] { all.wait(); });
    std::counting_semaphore<> done{0};
    unsigned nr_items = 0;
    if (q.is.has_attrs && q.is.order != order::whole) {
        for (unsigned n = dice().below(4); n != 0; --n) {
            ++q.posted;
            const queue_status s = does(op::post, [&] {
                return q.front().post([&] {
                    {
                        const inner_run here(w, q);
                        all.wait();
                    }
                    done.release();
                });
            });
            if (s == queue_status::queued) ++nr_items;
            else --q.posted;
        }
    }
    all.wait();
    for (; nr_items != 0; --nr_items) done.acquire();
    for (std::thread& t : others) t.join();
    all.verify();
}

} // namespace soak
