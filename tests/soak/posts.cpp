// SPDX-License-Identifier: BSL-1.0
// proves: kernel-30
#include "posts.hpp"

#include "calls.hpp"
#include "kinds.hpp"
#include "run.hpp"
#include "world.hpp"

#include <cmwq/async.hpp>

#include <future>
#include <memory>
#include <utility>

using cmwq::queue_status;

namespace soak {

namespace {

/// An object in a closure. It must be destroyed exactly once, whether the closure has run or not.
class object {
public:
    explicit object(world& w) : w_(&w) { ++w.made; }
    object(const object& other) : w_(other.w_) { ++w_->made; }
    object(object&& other) noexcept : w_(other.w_) { ++w_->made; }
    object& operator=(const object&) = delete;
    object& operator=(object&&) = delete;
    ~object() { ++w_->gone; }

private:
    world* w_;
};

template <class F>
queue_status post_somewhere(world& w, any_queue& q, F&& f) {
    const drain_watch drains(q);
    const unsigned cpu = w.machine.some_cpu(dice());
    const queue_status s = dice().one_in(2)
                               ? does(op::post, [&] { return q.front().post(std::forward<F>(f)); })
                               : does(op::post_on, [&] { return q.front().post_on(cpu, std::forward<F>(f)); });
    w.complain.expect(s == queue_status::queued || (s == queue_status::rejected && drains.saw_one()),
                      "a post is not accepted", q.is.kind);
    return s;
}

/// Numbers a closure and posts it. The run checks that closures run in the order of these numbers.
void post_numbered(world& w, any_queue& q, domain& d, int cpu) {
    const std::uint64_t number = d.next;
    auto closure = [&w, &q, &d, number] {
        const run r(w, nullptr, 0, &q);
        w.complain.expect_equal(d.ran, number, "out of order: the next one, the one that runs", q.is.kind);
        ++d.ran;
        if (q.is.may_block && dice().one_in(16)) stress::block_for(std::chrono::microseconds{20});
        ++q.post_ran;
    };
    ++q.posted; // before the call, because the closure may run during it
    ++d.next;
    const queue_status s =
        cpu < 0 ? does(
                      op::post, [&] { return q.front().post(closure); })
                : does(op::post_on, [&] { return q.front().post_on(static_cast<unsigned>(cpu), closure); });
    if (s == queue_status::queued) return;
    --d.next;
    --q.posted;
}

} // namespace

struct fleeting_item {
    fleeting_item(world& wd, unsigned l) : w(wd), level(l) { ++w.made; }
    ~fleeting_item() { ++w.gone; }
    fleeting_item(const fleeting_item&) = delete;
    fleeting_item& operator=(const fleeting_item&) = delete;

    void run() {
        const soak::run r(w, &item, level);
        std::unique_ptr<fleeting_item> self(this);
        world& wd = w;
        const bool first = dice().one_in(2);
        if (first) does(op::item_destroys_itself, [&] { self.reset(); });
        ++wd.ran;
        behave(r);
    }

    world& w;
    const unsigned level;
    cmwq::work_member<&fleeting_item::run> item{*this};
};

void post(world& w, any_queue& q, unsigned level) {
    ++q.posted;
    const queue_status s = post_somewhere(w, q, [&w, &q, level, o = object(w)] {
        const run r(w, nullptr, level, &q);
        ++q.post_ran;
        behave(r);
    });
    if (s != queue_status::queued) --q.posted;
}

namespace {

/// `front`: of `q`; an item must not look it up, because the queue may be about to end.
void link(world& w, any_queue& q, cmwq::workqueue_base& front) {
    ++q.posted;
    const queue_status s = does(op::chain, [&] {
        return front.post([&w, &q, &front, o = object(w)] {
            const run r(w, nullptr, 0, &q);
            ++q.post_ran;
            stress::burn(dice().below(20'000));
            if (q.drains_begun == q.drains_ended && !dice().one_in(2'000)) link(w, q, front);
            else --w.chains;
        });
    });
    if (s == queue_status::queued) return;
    --q.posted;
    --w.chains;
}

} // namespace

void chain(world& w, any_queue& q) {
    constexpr std::uint64_t most = 2;
    if (!q.is.may_block) return; // it would never leave the thread that has posted it
    if (++w.chains <= most) link(w, q, q.front());
    else --w.chains;
}

void post_in_order(world& w, any_queue& q, unsigned thread) {
    const unsigned cpu = w.machine.some_cpu(dice());
    switch (q.is.order) {
    case order::none: return;
    case order::whole: {
        const std::lock_guard g(q.domains[0].lock);
        post_numbered(w, q, q.domains[0], -1);
        return;
    }
    case order::per_cpu: {
        const std::lock_guard g(q.domains[cpu].lock);
        post_numbered(w, q, q.domains[cpu], static_cast<int>(cpu));
        return;
    }
    case order::per_context: post_numbered(w, q, q.domains[cpu * max_threads + thread], static_cast<int>(cpu)); return;
    }
}

void async(world& w, any_queue& q, unsigned level, bool may_wait) {
    const drain_watch drains(q);
    const int answer = static_cast<int>(dice().below(1000));
    const bool fails = dice().one_in(4);
    ++q.posted;
    std::future<int> f = does(op::async, [&] {
        return q.front().async([&w, &q, level, answer, fails, o = object(w)] {
            const run r(w, nullptr, level, &q);
            ++q.post_ran;
            if (fails) throw planned_exception{};
            return answer;
        });
    });
    // A rejected future is ready at once. The caller waits for any other future only if it may.
    if (!may_wait && f.wait_for(std::chrono::seconds{0}) != std::future_status::ready) return;
    try {
        w.complain.expect(does(op::answer, [&] { return f.get(); }) == answer && !fails, "a future has a wrong value",
                          q.is.kind);
    } catch (const planned_exception&) {
        w.complain.expect(fails, "a future fails", q.is.kind);
    } catch (const std::future_error& e) {
        w.complain.expect(e.code() == std::future_errc::broken_promise && drains.saw_one(), "a future is dropped",
                          q.is.kind);
    } catch (const std::system_error& e) {
        w.complain.expect(e.code() == std::errc::operation_canceled && drains.saw_one(), "a future was rejected",
                          q.is.kind);
        --q.posted;
    }
}

void fork_and_join(world& w, any_queue& q, bool inside) {
    const drain_watch drains(q);
    const std::unique_ptr<cmwq::task_group> group = q.make_group();
    if (group == nullptr) return;
    std::atomic<unsigned> ran{0};
    const unsigned asked = dice().below(12);
    unsigned accepted = 0;
    bool fails = false;
    for (unsigned n = asked; n != 0; --n) {
        const bool this_fails = dice().one_in(32);
        ++q.posted;
        const queue_status s = does(op::task, [&] {
            return group->run([&w, &q, &ran, this_fails, o = object(w)] {
                ++ran;
                const inner_run here(w, q);
                if (dice().one_in(4)) stress::burn(dice().below(10'000));
                if (dice().one_in(16)) stress::block_for(std::chrono::microseconds{dice().below(100)});
                if (this_fails) throw planned_exception{};
            });
        });
        w.complain.expect(s == queue_status::queued || (s == queue_status::rejected && drains.saw_one()),
                          "a task is not accepted", q.is.kind);
        if (s == queue_status::queued) {
            ++accepted;
            fails |= this_fails;
        } else {
            --q.posted;
        }
    }
    // Not inside: that queue may be shut down, which counts the tasks that it drops. Not on a freezable queue: the
    // tasks that have not run are counted late, maybe in a freeze.
    const bool cancelled = !inside && !q.is.freezable && dice().one_in(8);
    if (cancelled) does(op::group_cancel, [&] { group->cancel(); });
    bool complete = false, failed = false;
    try {
        complete = does(op::group_wait, [&] { return group->wait(); });
    } catch (const planned_exception&) {
        failed = true;
    }
    if (cancelled) {
        for (unsigned n = ran; n < accepted; ++n)
            const inner_run skipped(w, q); // its item has run, and has not called it
    }
    w.complain.expect(fails || !failed, "a task fails", q.is.kind);
    w.complain.expect(failed || !fails || ran < accepted, "the exception of a task is lost", q.is.kind);
    w.complain.expect(failed || complete == (ran == asked), "a group miscounts its tasks", q.is.kind);
    w.complain.expect(ran == accepted || cancelled || drains.saw_one(), "a task did not run", q.is.kind);
}

void queue_and_wait(world& w, any_queue& q) {
    const drain_watch drains(q);
    bool ran = false;
    cmwq::work inner{[&] {
        const inner_run here(w, q);
        ran = true;
        if (dice().one_in(4)) stress::burn(dice().below(10'000));
        if (dice().one_in(8)) stress::block_for(std::chrono::microseconds{dice().below(100)});
    }};
    ++q.posted;
    if (submit(w.machine, q, inner) == queue_status::queued) {
        does(op::item_flush, [&] { inner.flush(); });
        // A shutdown drops pending items.
        w.complain.expect(ran || drains.saw_one(), "flush() of an inner item returns before its run", q.is.kind);
    } else {
        --q.posted;
        w.complain.expect(drains.saw_one(), "an inner item is rejected", q.is.kind);
    }
}

void fleeting(world& w, any_queue& q, unsigned level) {
    auto* const item = new fleeting_item(w, level);
    ++w.accepted;
    if (submit(w.machine, q, item->item) == queue_status::queued) return;
    --w.accepted;
    delete item;
}

} // namespace soak
