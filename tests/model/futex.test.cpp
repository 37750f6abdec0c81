// SPDX-License-Identifier: BSL-1.0
//
// The real protocols of parker and mutex over a model of futexes. When these defects were put into the protocols, these
// searches found them: a parker that takes its permit with a plain store (a second permit is lost: deadlock); a mutex
// whose waiters take it as if no other thread slept.
#include "catch.hpp"

#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/mutex_protocol.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/parker_protocol.hpp>
#include <model/explore.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace {

namespace detail = cmwq::detail;
namespace model = cmwq::detail::model;

// The kernel's side of one futex word. For a waking thread, the look at the word and the start of the sleep are one
// step.
struct bucket {
    detail::mutex lock;
    struct sleeper {
        detail::parker parked;
        sleeper* next = nullptr;
    };
    sleeper* first = nullptr;
};

bucket* kernel = nullptr; // of the running execution; each execution has one futex

struct model_futex {
    using word = detail::atomic<std::uint32_t>;

    static void wait(word& w, std::uint32_t seen) noexcept {
        bucket::sleeper me;
        {
            const detail::scoped_lock g(kernel->lock);
            if (w.fetch_add(0, detail::seq_cst) != seen) return;
            bucket::sleeper** last = &kernel->first;
            while (*last != nullptr) last = &(*last)->next;
            *last = &me;
        }
        me.parked.park();
    }

    static bool wait_until(word& w, std::uint32_t seen, std::int64_t) noexcept {
        wait(w, seen);
        return true;
    }

    static void wake_one(word&) noexcept {
        bucket::sleeper* woken = nullptr;
        {
            const detail::scoped_lock g(kernel->lock);
            woken = kernel->first;
            if (woken != nullptr) kernel->first = woken->next;
        }
        if (woken != nullptr) woken->parked.unpark();
    }
};

using parker = detail::basic_parker<model_futex>;
using mutex = detail::basic_mutex<model_futex>;

model::options search(std::string name) {
    model::options o;
    o.name = std::move(name);
    o.steps = 1'000'000;
    return o;
}

} // namespace

TEST_CASE("futex: two permits at once count as one and the messages of both givers arrive") {
    CHECK(model::explore(search("parker-two-givers"), [] {
        bucket k;
        kernel = &k;
        parker p;
        detail::atomic<int> a{0}, b{0};
        auto give = [&p](detail::atomic<int>& flag) {
            flag.store(1, detail::relaxed); // the permit publishes it
            p.unpark();
        };
        auto t = model::spawn([&] { give(a); });
        auto u = model::spawn([&] { give(b); });
        while (a.load(detail::relaxed) == 0 || b.load(detail::relaxed) == 0) p.park();
        t.join();
        u.join();
    }));
}

TEST_CASE("futex: a permit may be given before a wait or between waits or after them") {
    CHECK(model::explore(search("parker-rounds"), [] {
        bucket k;
        kernel = &k;
        parker p;
        model::checked<int> mail{0};
        p.unpark();
        p.park(); // returns at once
        auto t = model::spawn([&] {
            mail = 1;
            p.unpark();
        });
        p.park();
        model::require(mail == 1, "data written before unpark() is visible after park()");
        t.join();
    }));
}

TEST_CASE("futex: the mutex excludes and wakes its sleepers") {
    CHECK(model::explore(search("mutex"), [] {
        bucket k;
        kernel = &k;
        mutex m;
        model::checked<int> n{0};
        const auto work = [&]() CMWQ_NO_TSA {
            m.lock();
            n = n + 1;
            m.unlock();
        };
        auto t = model::spawn(work);
        auto u = model::spawn(work);
        work();
        t.join();
        u.join();
        model::require(n == 3, "each thread has counted once");
    }));
}
