// SPDX-License-Identifier: BSL-1.0
//
// A program for check_probes.py: it writes to the file that its argument names how often each probe must have been
// passed, by its own counters.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>

namespace {

/// Counts what no statistic counts.
struct counter final : cmwq::observer {
    void worker_woken(const cmwq::worker_event& /*e*/) noexcept override { ++nr_woken; }
    void worker_ended(const cmwq::worker_event& /*e*/) noexcept override { ++nr_ended; }

    std::atomic<std::uint64_t> nr_woken{0}, nr_ended{0};
};

constexpr std::uint64_t nr_regions = 2; // of each queue

template <class Policy>
void work_on(cmwq::workqueue<Policy>& q) {
    for (int i = 0; i < 20; ++i) {
        q.post([&q, i] {
            q.post([] {});
            if (i % (20 / nr_regions) == 0) const cmwq::blocking_region region;
        });
    }
    cmwq::delayed_work<std::function<void()>> never{[] {}};
    q.queue_after(std::chrono::hours{1}, never);
    never.cancel(); // it was never pending in a pool
    q.drain();
}

/// Cancels an item that is pending behind a frozen limit.
void cancel_one(cmwq::runtime& rt, cmwq::workqueue<>& q) {
    cmwq::work<std::function<void()>> item{[] {}};
    rt.freeze();
    q.queue(item);
    item.cancel();
    rt.thaw();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    counter seen;
    std::optional<cmwq::runtime> rt(std::in_place, cmwq::runtime_options{.sentinel = false});
    rt->attach(seen);
    cmwq::queue_counters sum;
    {
        cmwq::workqueue<> a{*rt, {.name = "a", .freezable = true}};
        cmwq::workqueue<cmwq::elastic> b{*rt, "b"};
        cmwq::workqueue<cmwq::ordered> c{*rt, "c"};
        work_on(a);
        work_on(b);
        work_on(c);
        cancel_one(*rt, a);
        for (const cmwq::queue_stats& s : {a.stats(), b.stats(), c.stats()}) cmwq::detail::add(sum, s);
    }
    const cmwq::runtime_stats all = rt->stats();
    rt.reset();
    std::ofstream to(argv[1]);
    to << "queue_work " << sum.started + sum.cancelled << '\n'
       << "execute_start " << sum.started << '\n'
       << "execute_end " << sum.completed << '\n'
       << "cancel_work " << sum.cancelled << '\n'
       << "block " << 3 * nr_regions + all.blocks_by_sentinel + all.blocks_by_monitor << '\n'
       << "unblock " << 3 * nr_regions << '\n'
       << "worker_create " << seen.nr_ended << '\n'
       << "worker_wake " << seen.nr_woken << '\n'
       << "worker_end " << seen.nr_ended << '\n';
    return to.flush() ? 0 : 1;
}
