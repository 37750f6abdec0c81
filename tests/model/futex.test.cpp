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
#include <memory>
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
        detail::transient_parker parked;
        sleeper* next = nullptr;
    };
    sleeper* first = nullptr;
};

/// A thread does not stop inside the kernel: the lock of a bucket is a spinlock.
class in_kernel {
public:
    in_kernel() noexcept : was_(std::exchange(model::here("in_kernel").self().may_stall, false)) {}
    ~in_kernel() { model::here("~in_kernel").self().may_stall = was_; }
    in_kernel(const in_kernel&) = delete;
    in_kernel& operator=(const in_kernel&) = delete;

private:
    const bool was_;
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
        model::here("wake_one()").point(); // the last step of the caller's own code
        const in_kernel here;
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
using transient_parker = detail::basic_parker<model_futex, detail::parker_lifetime::one_wait>;
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

// A thread stops for an hour in the middle of unpark().
// proves: progress-7
TEST_CASE("futex: a second giver wakes the owner although the first one has not done so yet") {
    model::options o = search("stopped-giver");
    o.stalls = 1;
    CHECK(model::explore(o, [] {
        bucket k;
        kernel = &k;
        parker p;
        const std::int64_t began = model::elapsed();
        std::int64_t woken = 0;
        auto owner = model::spawn([&] {
            for (int i = 0; i < 2; ++i) p.park();
            woken = model::elapsed();
        });
        auto stops = model::spawn([&] {
            const model::may_stall here;
            p.unpark();
        });
        model::sleep(1); // it has given a permit, or stops before that
        p.unpark();
        model::sleep(1); // the owner has taken the permits, or sleeps once more
        p.unpark();
        model::sleep(1);
        p.unpark();
        owner.join();
        model::require(woken - began < 1'000'000'000, "the owner did not wait for the stopped thread");
        stops.join();
    }));
}

TEST_CASE("futex: an owner may destroy a transient parker as soon as it has its permit") {
    CHECK(model::explore(search("transient"), [] {
        bucket k;
        kernel = &k;
        model::checked<int> mail{0};
        auto p = std::make_unique<transient_parker>();
        auto t = model::spawn([&mail, parker = p.get()] {
            mail = 1;
            parker->unpark();
        });
        p->park();
        p.reset(); // if unpark() accessed it from here on, the search would find that
        model::require(mail == 1, "data written before unpark() is visible after park()");
        t.join();
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
