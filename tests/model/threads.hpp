// SPDX-License-Identifier: BSL-1.0
//
// A system that refuses threads when a search wants it to, and items that are kept apart.
#pragma once

#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <cerrno>

namespace cmwq_test {

/// Makes threads, or refuses to. Plain variables: who starts threads is what is searched, not when the system changes
/// its mind, which an operation between the two decides.
class moody_system final : public cmwq::thread_source {
public:
    int start(cmwq::detail::thread& t, cmwq::detail::thread_body body, void* arg) noexcept override {
        if (refuse_) return EAGAIN;
        return t.start(body, arg);
    }
    /// From inside the search: another thread may get in before and after it.
    void refuse(bool yes) {
        model::here("refuse()").point();
        refuse_ = yes;
        // Whoever tries again at each tick may find another world: waiting loops look again, too.
        model::here("refuse()").mutated();
    }

private:
    bool refuse_ = false;
};

/// The body of an item: counts its runs, and never runs twice at once.
class counted_runs {
public:
    void operator()() { runs_ = runs_ + 1; } // a data race, unless each run comes after the one before
    [[nodiscard]] int runs() const { return runs_; }

private:
    model::checked<int> runs_{0};
};

} // namespace cmwq_test
