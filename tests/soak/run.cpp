// SPDX-License-Identifier: BSL-1.0
#include "run.hpp"

#include "world.hpp"

#include <cmwq/this_work.hpp>

#include <sched.h>

namespace soak {

namespace {
thread_local unsigned nr_runs_of_thread = 0;
}

run_of_thread::run_of_thread() : is_outermost(nr_runs_of_thread++ == 0) {}
run_of_thread::~run_of_thread() { --nr_runs_of_thread; }

run::run(world& wd, const cmwq::work_base* self, unsigned l, any_queue* q)
    : w(wd), level(l), queue(q != nullptr ? q : wd.running_on()) {
    ++w.entered;
    if (self != nullptr) w.complain.expect(cmwq::this_work::current() == self, "this_work::current() is another item");
    if (queue == nullptr) return;
    ++queue->entered;
    w.complain.expect(queue->is.rescuer || !thread_.is_outermost || !cmwq::this_work::on_rescuer(),
                      "rescued without a rescuer", queue->is.kind);
    const std::uint64_t inside = ++queue->inside;
    const nature& is = queue->is;
    if (is.at_once == 0) return;
    if (!is.at_once_per_cpu) {
        w.complain.expect(inside <= is.at_once, "more items at once than max_active", is.kind);
        return;
    }
    cpu_ = static_cast<unsigned>(::sched_getcpu());
    counts_cpu_ = true;
    const std::uint64_t here = ++queue->inside_cpu[cpu_];
    w.complain.expect(here <= is.at_once, "more items at once on a CPU than max_active", is.kind);
}

run::~run() {
    if (queue != nullptr) {
        if (counts_cpu_) --queue->inside_cpu[cpu_];
        --queue->inside;
        ++queue->left;
    }
    ++w.left;
}

inner_run::inner_run(world& w, any_queue& q) : w_(w), q_(q) {
    ++w_.entered;
    ++q_.entered;
    ++q_.post_ran;
}

inner_run::~inner_run() {
    ++q_.left;
    ++w_.left;
}

} // namespace soak
