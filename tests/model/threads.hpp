// SPDX-License-Identifier: BSL-1.0
//
// Refusal of threads as a step of a search, and items and tasks whose runs are counted.
#pragma once

#include "fake_threads.hpp"
#include "model/machine.hpp"

#include <functional>

namespace cmwq_test {

/// Makes `threads` refuse all starts, or none. The call is a step of the search: other threads may run before and after
/// it.
inline void refuse_threads(fake_threads& threads, bool yes) {
    model::here("refuse_threads()").point();
    yes ? threads.refuse() : threads.allow();
    // A thread that tries again at each tick may succeed now, so waiting loops look again.
    model::here("refuse_threads()").mutated();
}

/// The body of an item: counts its runs, and checks that no two of them run at once.
class counted_runs {
public:
    void operator()() { runs_ = runs_ + 1; } // a data race unless each run happens after the previous one
    [[nodiscard]] int runs() const { return runs_; }

private:
    model::checked<int> runs_{0};
};

/// Two items that count their runs.
struct two_items {
    /// Waits for two runs, without flush(): flush() looks at the pool itself and could hide a missing wake-up.
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

/// Two tasks of a group that count their runs.
struct two_tasks {
    void add_to(cmwq::task_group& g) {
        g.run([this] { of_x(); });
        g.run([this] { of_y(); });
    }
    [[nodiscard]] bool ran_once_each() const { return of_x.runs() == 1 && of_y.runs() == 1; }
    [[nodiscard]] int runs() const { return of_x.runs() + of_y.runs(); }

    counted_runs of_x, of_y;
};

} // namespace cmwq_test
