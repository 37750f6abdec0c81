// SPDX-License-Identifier: BSL-1.0
//
// grace_period and stable_vector by themselves: no value is freed that a thread reads, and no value is read that does
// not exist yet.
//
// These tests free a value by writing it. If a thread still reads the value, that is a data race, and the reader sees a
// wrong value.
//
// When these defects were put into the engine, these searches found them: a reader that counts itself in, or out,
// relaxed; a writer that looks at the counts with acquire only, at one stripe only, or after one of the two turns only;
// a size that is stored or read relaxed. They do not find an element that is counted before its pointer is stored: that
// pointer is a plain variable.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/ds/grace_period.hpp>
#include <cmwq/detail/ds/stable_vector.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

using cmwq::detail::acquire;
using cmwq::detail::atomic;
using cmwq::detail::grace_period;
using cmwq::detail::relaxed;
using cmwq::detail::release;
using cmwq::detail::seq_cst;
using cmwq::detail::stable_vector;
using namespace cmwq_test;

namespace {

/// A value that is exchanged in the same way as the map of a queue.
class exchanged {
public:
    exchanged() {
        for (auto& v : versions_) v = std::make_unique<model::checked<int>>(1);
        now_.store(versions_[0].get(), relaxed);
    }

    void read(unsigned stripe) {
        const grace_period::reader r(grace_, stripe);
        const model::checked<int>& v = *now_.load(seq_cst); // [GRACE-1]
        model::require(v == 1, "the value exists");
        static_cast<void>(pause_.load(relaxed)); // a step: the reader may be interrupted here
        model::require(v == 1, "the value still exists");
    }
    void replace() {
        const cmwq::detail::scoped_lock g(writers_);
        free_old_locked(true);
        publish_locked();
        free_old_locked(true);
    }
    /// As replace(), but does not wait: a later call, of any thread, frees the old value.
    void begin_to_replace() {
        const cmwq::detail::scoped_lock g(writers_);
        free_old_locked(true);
        publish_locked();
        free_old_locked(false);
    }
    void go_on() {
        const cmwq::detail::scoped_lock g(writers_);
        free_old_locked(false);
    }

private:
    void publish_locked() {
        old_ = versions_[at_].get();
        so_far_ = {};
        now_.store(versions_[++at_].get(), seq_cst); // [GRACE-2]
    }
    void free_old_locked(bool may_wait) {
        if (old_ == nullptr) return;
        for (cmwq::detail::backoff b; !grace_.try_wait(so_far_); b.pause()) {
            if (!may_wait) return;
        }
        *std::exchange(old_, nullptr) = 0;
    }

    grace_period grace_{2};
    atomic<model::checked<int>*> now_{nullptr};
    atomic<int> pause_{0};
    cmwq::detail::mutex writers_;
    std::array<std::unique_ptr<model::checked<int>>, 4> versions_;
    std::size_t at_ = 0;
    model::checked<int>* old_ = nullptr;
    grace_period::progress so_far_;
};

struct element {
    model::checked<int> number{-1};
};

} // namespace

TEST_CASE("grace: a reader on each stripe runs beside a writer that replaces and frees") {
    CHECK(model::explore(search("replace", 2, 3), [] {
        exchanged x;
        auto a = model::spawn([&] { x.read(0); });
        auto b = model::spawn([&] { x.read(1); });
        x.replace();
        a.join();
        b.join();
    }));
}

TEST_CASE("grace: a writer waits for a reader that took its turn two changes ago") {
    CHECK(model::explore(search("replace-twice", 2, 3), [] {
        exchanged x;
        auto a = model::spawn([&] { x.read(0); });
        x.replace();
        x.replace();
        a.join();
    }));
}

TEST_CASE("grace: readers read repeatedly beside two writers") {
    CHECK(model::explore(search("writers", 3), [] {
        exchanged x;
        auto a = model::spawn([&] {
            x.read(0);
            x.read(0);
        });
        auto b = model::spawn([&] { x.replace(); });
        x.replace();
        x.read(1);
        a.join();
        b.join();
    }));
}

TEST_CASE("grace: a writer goes on with a wait of another one that could not wait") {
    CHECK(model::explore(search("steps", 2, 3), [] {
        exchanged x;
        auto a = model::spawn([&] { x.read(0); });
        auto b = model::spawn([&] { x.read(1); });
        x.begin_to_replace();
        auto c = model::spawn([&] { x.go_on(); });
        x.go_on();
        x.replace();
        a.join();
        b.join();
        c.join();
    }));
}

TEST_CASE("grace: an item looks for its run while the runtime of that run ends") {
    CHECK(model::explore(search("directory", 3), [] {
        std::optional<machine> m(std::in_place, setup{.end_searched = true});
        model::checked<int> written{0};
        int runs = 0;
        std::optional<cmwq::runtime> other;
        {
            model::unsearched quiet; // one more runtime on the list
            other.emplace(cmwq::runtime_options{.machine = cmwq::topology::flat(cmwq::cpuset{0}), .sentinel = false});
        }
        auto item = std::make_unique<cmwq::work<std::function<void()>>>([&] {
            written = 1;
            ++runs;
        });
        m->q.queue(*item);
        auto t = model::spawn([&] {
            item.reset(); // the item was cancelled or has run
            if (runs != 0) model::require(written == 1, "the run has ended");
        });
        auto u = model::spawn([&] { other.reset(); });
        t.join();
        m.reset();
        u.join();
    }));
}

TEST_CASE("grace: elements of a stable_vector are complete when they are counted") {
    CHECK(model::explore(search("vector", 1, 3), [] {
        stable_vector<element> v;
        model::unsearched quiet;
        const auto append = [&] {
            auto e = std::make_unique<element>();
            e->number = static_cast<int>(v.size());
            v.append(std::move(e));
        };
        for (int i = 0; i < 7; ++i) append(); // the next segment begins with the second element from here
        quiet.end();
        const auto read = [&] {
            for (std::size_t i = 5, n = v.size(); i < n; ++i)
                model::require(v[i].number == static_cast<int>(i), "the element is whole");
        };
        auto a = model::spawn(read);
        auto b = model::spawn(read);
        append();
        append();
        append();
        a.join();
        b.join();
        model::require(v.size() == 10, "all are there");
    }));
}
