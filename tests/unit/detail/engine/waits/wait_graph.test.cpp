// SPDX-License-Identifier: BSL-1.0
//
// wait_graph alone: one thread is the thread of every worker in turn, and flushes queues inside of their items.
#include "bare_pool.hpp"
#include "catch.hpp"
#include "text.hpp"

#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace cmwq::detail;
using cmwq_test::bare_env;
using cmwq_test::bare_item;
using cmwq_test::bare_pool;
using cmwq_test::bare_queue;
using cmwq_test::has;

namespace {

struct bread : cmwq::unbound {
    static constexpr std::string_view name = "bread";
};
struct butter : cmwq::unbound {
    static constexpr std::string_view name = "butter";
};
struct jam : cmwq::unbound {
    static constexpr std::string_view name = "jam";
};

/// A queue in the pool, with two items, and two workers that run them.
template <class Policy>
class course {
public:
    course(const bare_env& e, bare_pool& p) : pool_(p), queue_(e), pwq_(queue_.face, p, nullptr) {
        pwq_.max_active = 8;
    }
    ~course() {
        for (run& r : runs_) {
            r.wait.reset();
            pool_.ledger.stop_waiting(r.node);
            if (r.by.current_pwq != nullptr) pool_.end(r.by);
        }
    }
    course(const course&) = delete;
    course& operator=(const course&) = delete;

    void start(std::size_t i = 0) {
        run& r = runs_[i];
        REQUIRE(pool_.push(r.item, pwq_));
        REQUIRE(pool_.start(r.by) == &r.item);
    }
    void end(std::size_t i = 0) { pool_.end(runs_[i].by); }
    /// The item flushes what has been queued on the queue of another course up to now.
    template <class Other>
    void flush(Other& other, bool may_throw = true, std::size_t i = 0) {
        run& r = runs_[i];
        r.node = {.who = &r.who, .pwq = &other.pwq_, .pool = &pool_};
        REQUIRE(pool_.ledger.close_color(other.pwq_, r.node));
        struct as_worker {
            explicit as_worker(run_record& w) { this_thread_slots().current_run = &w; }
            ~as_worker() { this_thread_slots().current_run = nullptr; }
        } const thread(r.by);
        r.wait.emplace(wait_call{.name = "flush()", .may_throw = may_throw, .of_pending = true}, other.queue_.face,
                       &r.node, 1u);
    }
    [[nodiscard]] bool waits(std::size_t i = 0) const { return runs_[i].node.waits; }

private:
    template <class>
    friend class course;

    struct run {
        worker& by;
        bare_item item{};
        waiter who{};
        color_waiter node{};
        std::optional<registered_wait> wait{};
    };

    bare_pool& pool_;
    bare_queue<Policy> queue_;
    pool_workqueue pwq_;
    run runs_[2] = {{pool_.add_worker()}, {pool_.add_worker()}};
};

struct kitchen {
    std::vector<cmwq::event::kind> events;
    bare_env env{"numa:1 core:1 pu:1", {.on_event = [this](const cmwq::event& e) { events.push_back(e.what); }}};
    bare_pool pool{env};
    course<bread> first{env, pool};
    course<butter> second{env, pool};
    course<jam> third{env, pool};
};

} // namespace

TEST_CASE("wait graph: a wait that closes a cycle is refused, and is not registered any more") {
    kitchen k;
    k.first.start();
    k.second.start();
    k.third.start();
    k.first.flush(k.second);
    k.second.flush(k.third);
    std::error_code code;
    std::string text;
    try {
        k.third.flush(k.first);
    } catch (const std::system_error& e) {
        code = e.code();
        text = e.what();
    }
    CHECK(code == std::errc::resource_deadlock_would_occur);
    INFO(text);
    for (const char* name : {"bread", "butter", "jam"}) CHECK(has(text, name));
    CHECK_FALSE(k.third.waits());
    CHECK(k.first.waits());
    k.third.end(); // the others go on
    CHECK_FALSE(k.second.waits());
}

TEST_CASE("wait graph: a chain of waits is none") {
    kitchen k;
    k.first.start();
    k.second.start();
    k.third.start();
    k.first.flush(k.third);
    CHECK_NOTHROW(k.second.flush(k.first));
}

TEST_CASE("wait graph: a flush does not depend on items that were queued after it") {
    const bool before = GENERATE(true, false);
    kitchen k;
    k.first.start();
    k.second.start(0);
    if (before) k.second.start(1);
    k.first.flush(k.second);
    if (!before) k.second.start(1);
    if (before) CHECK_THROWS_AS(k.second.flush(k.first, true, 1), std::system_error);
    else CHECK_NOTHROW(k.second.flush(k.first, true, 1));
}

TEST_CASE("wait graph: where a call must not throw, the wait goes on, and an event tells of it") {
    kitchen k;
    k.first.start();
    k.second.start();
    k.first.flush(k.second);
    CHECK_NOTHROW(k.second.flush(k.first, false));
    CHECK((k.first.waits() && k.second.waits()));
    std::vector<wait_report> waits;
    REQUIRE(wait_graph::waits_of(k.env.get(), waits, INT64_MAX));
    CHECK(waits.size() == 2);
    k.env.deliver_events();
    CHECK(k.events == std::vector{cmwq::event::kind::deadlock});
}
