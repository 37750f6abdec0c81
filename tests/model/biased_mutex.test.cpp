// SPDX-License-Identifier: BSL-1.0
//
// The real biased_mutex over a model of the barrier for all threads.
//
// When these defects were put into it, these searches found them: an owner that enters without a note, or without a
// second look at the bias, or leaves without a wake-up, or wakes before it has left; another thread that executes no
// barrier, does not wait until the owner is outside, or leaves the bias as it was; a bias that comes back after the
// mutex was released; the note and the look without release or acquire; a revocation that is not counted, or counted
// without a bias.
#include "catch.hpp"

#include <cmwq/detail/sync/biased_mutex.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>
#include <model/explore.hpp>

#include <string>
#include <utility>

namespace {

namespace detail = cmwq::detail;
namespace model = cmwq::detail::model;

using biased_mutex = detail::biased_mutex<detail::lock_rank::local_items>;
using detail::own_lock;
using detail::scoped_lock;

/// A counter that two threads at a time would spoil.
class guarded_count {
public:
    void by_owner() {
        const own_lock g(lock);
        increment();
    }
    void by_other() {
        const scoped_lock g(lock);
        increment();
    }

    biased_mutex lock;
    model::checked<int> n{0};

private:
    void increment() {
        const int before = n;
        static_cast<void>(inside_.load(detail::relaxed)); // here another thread may go on
        n = before + 1;
    }

    detail::atomic<int> inside_{0};
};

model::options search(std::string name) {
    model::options o;
    o.name = std::move(name);
    o.steps = 2'000'000;
    o.preemptions = 3;
    return o;
}

} // namespace

TEST_CASE("biased_mutex: the owner and another thread exclude each other, however often the bias comes and goes") {
    CHECK(model::explore(search("owner-and-other"), [] {
        guarded_count c;
        auto other = model::spawn([&c] {
            c.by_other();
            c.by_other();
        });
        for (int i = 0; i < 3; ++i) c.by_owner();
        other.join();
        model::require(c.n == 5, "each section has counted");
    }));
}

TEST_CASE("biased_mutex: threads that exclude each other by a lock of their own rely on the barrier of the first one") {
    CHECK(model::explore(search("owner-and-others"), [] {
        detail::mutex of_others;
        guarded_count c;
        const auto visit = [&] {
            const scoped_lock g(of_others);
            c.by_other();
        };
        c.by_owner(); // takes the bias
        auto first = model::spawn(visit), second = model::spawn(visit);
        for (int i = 0; i < 2; ++i) c.by_owner();
        first.join();
        second.join();
        model::require(c.n == 5, "each section has counted");
    }));
}

TEST_CASE("biased_mutex: one barrier revokes the bias of several mutexes, of which not all are locked then") {
    CHECK(model::explore(search("one-barrier"), [] {
        detail::mutex of_others;
        guarded_count a, b;
        const auto visit = [&](guarded_count& locked) {
            const scoped_lock g(of_others);
            const bool in_a = a.lock.announce(), in_b = b.lock.announce();
            if (in_a || in_b) detail::process_barrier::run();
            locked.by_other();
        };
        a.by_owner();
        auto owner_of_b = model::spawn([&b] {
            for (int i = 0; i < 2; ++i) b.by_owner();
        });
        auto other = model::spawn([&] {
            visit(b);
            visit(a);
        });
        a.by_owner();
        owner_of_b.join();
        other.join();
        model::require(a.n == 3 && b.n == 3, "each section has counted");
    }));
}

TEST_CASE("biased_mutex: an owner that stops outside of its sections for an hour delays no other thread") {
    model::options o = search("stopped-owner");
    o.stalls = 1;
    o.stalls_with_locks = false;
    CHECK(model::explore(o, [] {
        guarded_count c;
        c.by_owner();
        auto other = model::spawn([&c] { c.by_other(); });
        {
            const model::may_stall here;
            detail::atomic<int> outside{0};
            outside.store(1, detail::relaxed);
        }
        c.by_owner();
        other.join();
        model::require(c.n == 3, "each section has counted");
    }));
}

TEST_CASE("biased_mutex: each revocation is counted") {
    CHECK(model::explore(search("counted"), [] {
        guarded_count c;
        c.by_other(); // there is no bias yet
        model::require(c.lock.nr_revocations() == 0, "there was no bias");
        c.by_owner();
        auto other = model::spawn([&c] {
            c.by_other();
            c.by_other();
        });
        other.join();
        model::require(c.lock.nr_revocations() == 1, "the second time there was none");
    }));
}
