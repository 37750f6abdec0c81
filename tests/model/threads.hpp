// SPDX-License-Identifier: BSL-1.0
//
// Threads that are refused at a moment that is searched, and items whose runs are counted.
#pragma once

#include "fake_threads.hpp"
#include "model/machine.hpp"

#include <functional>

namespace cmwq_test {

/// Lets `threads` refuse all starts, or none, from inside of the search: another thread may get in before and after it.
inline void refuse_threads(fake_threads& threads, bool yes) {
    model::here("refuse_threads()").point();
    yes ? threads.refuse() : threads.allow();
    // A thread that tries again at each tick may succeed now: waiting loops look again, too.
    model::here("refuse_threads()").mutated();
}

/// The body of an item: counts its runs, and never runs twice at once.
class counted_runs {
public:
    void operator()() { runs_ = runs_ + 1; } // a data race, unless each run comes after the one before
    [[nodiscard]] int runs() const { return runs_; }

private:
    model::checked<int> runs_{0};
};

/// Two items that count their runs.
struct two_items {
    /// Waits for two runs. Not by flush(), which looks at the pool itself.
    void wait() {
        done.acquire();
        done.acquire();
    }
    [[nodiscard]] bool ran_once_each() const { return of_x.runs() == 1 && of_y.runs() == 1; }

    counted_runs of_x, of_y;
    model::semaphore done{0}; ///< released by each run
    cmwq::work<std::function<void()>> x{[this] { of_x(), done.release(); }};
    cmwq::work<std::function<void()>> y{[this] { of_y(), done.release(); }};
};

} // namespace cmwq_test
