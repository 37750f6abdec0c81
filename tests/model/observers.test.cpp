// SPDX-License-Identifier: BSL-1.0
//
// The list of observers: none is called when it has been removed, and each one that is called is complete.
//
// When these defects were put into the list, these searches found them: a removal that does not wait; one that takes
// the observer off the list only after it has waited; an observer that joins the list before it knows the next one; a
// list that is read, or written, relaxed.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/engine/env/observers.hpp>
#include <cmwq/detail/sync/mutex.hpp>

using namespace cmwq_test;

namespace {

/// It exists as long as `alive` is 1.
class mortal final : public cmwq::observer {
public:
    mortal() = default;
    void die() { alive_ = 0; }
    void call() {
        model::require(alive_ == 1, "it exists");
        static_cast<void>(pause_.load(cmwq::detail::relaxed)); // a step: the thread may be interrupted here
        model::require(alive_ == 1, "it still exists");
    }

private:
    model::checked<int> alive_{1};
    cmwq::detail::atomic<int> pause_{0};
};

/// The list, as a runtime uses it.
class audience {
public:
    void add(mortal& m) {
        const cmwq::detail::scoped_lock g(changes_);
        list_.add(m);
    }
    void remove(mortal& m) {
        const cmwq::detail::scoped_lock g(changes_);
        list_.remove(m);
    }
    /// Returns whether `who` was told.
    bool tell(const mortal& who) {
        bool told = false;
        list_.tell([&](cmwq::observer& o) {
            static_cast<mortal&>(o).call();
            told |= &o == &who;
        });
        return told;
    }
    [[nodiscard]] bool empty() const { return !list_.any(); }

private:
    cmwq::detail::observers list_;
    cmwq::detail::mutex changes_;
};

} // namespace

TEST_CASE("observers: one leaves while two threads tell of something") {
    CHECK(model::explore(search("observer-leaves", 1, 3), [] {
        audience all;
        mortal stays, leaves;
        all.add(stays);
        all.add(leaves);
        auto a = model::spawn([&] { model::require(all.tell(stays), "the other one is told"); });
        auto b = model::spawn([&] { model::require(all.tell(stays), "the other one is told"); });
        all.remove(leaves);
        leaves.die();
        a.join();
        b.join();
        model::require(!all.tell(leaves), "it has left");
    }));
}

TEST_CASE("observers: two join and one leaves while a thread tells of something twice") {
    CHECK(model::explore(search("observer-joins", 1, 3), [] {
        audience all;
        mortal stays, joins, passes;
        all.add(stays);
        auto a = model::spawn([&] {
            model::require(all.tell(stays), "who stays is told");
            model::require(all.tell(stays), "who stays is told");
        });
        auto b = model::spawn([&] { all.add(joins); });
        all.add(passes);
        all.remove(passes);
        passes.die();
        a.join();
        b.join();
        model::require(all.tell(joins), "who has joined is told");
        all.remove(joins);
        all.remove(stays);
        model::require(all.empty(), "nobody is left");
    }));
}
