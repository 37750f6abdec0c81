// SPDX-License-Identifier: BSL-1.0
//
// The bodies of cpu_record and pool_table.

#include <cmwq/detail/engine/pools/pool_table.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE cpu_record::cpu_record(const pool_env& env, std::uint64_t first_pool_id, unsigned cpu_number,
                                   unsigned index)
    : cpu(cpu_number), idle_thread(env, cpu_number),
      pools{{env, first_pool_id, cpu_number, worker_pool::serves::one_cpu},
            {env, first_pool_id + 1, cpu_number, worker_pool::serves::one_cpu},
            {env, first_pool_id + 2, cpu_number, worker_pool::serves::one_cpu}},
      bottom_half_thread(env, cpu_number, bottom_halves[0], bottom_halves[1]),
      bottom_halves{{env, first_pool_id + nr_priorities, cpu_number, bottom_half_thread, &bottom_halves[1]},
                    {env, first_pool_id + nr_priorities + 1, cpu_number, bottom_half_thread, nullptr}} {
    for (unsigned p = 0; p < nr_priorities; ++p) {
        pool_spec spec{.cpus = cpuset{cpu}, .pod = cpuset{cpu}, .managed = true};
        if (p == static_cast<unsigned>(priority::high)) spec.nice = -20;
        if (p == static_cast<unsigned>(priority::fifo)) spec.sched = sched_class::fifo;
        pools[p].configure(std::move(spec), cpuset{index});
        idle_thread.watch(*pools[p].concurrency, sentinel::near::own_cpu);
    }
}

CMWQ_INLINE pool_table::pool_table(pool_env& env, std::uint64_t first_pool_id)
    : pool_finder(first_pool_id), registry_(env, first_pool_id + std::uint64_t{env.cpus.nr_cpus()} * nr_pools_of_cpu),
      requests_(env.requests) {
    env.finder = this;
    for (unsigned index = 0; index < env.cpus.nr_cpus(); ++index) {
        cpus_.push_back(std::make_unique<cpu_record>(env, first_pool_id + std::uint64_t{index} * nr_pools_of_cpu,
                                                     env.cpus.number_of(index), index));
    }
}

CMWQ_INLINE std::uint64_t pool_table::id_of_runner(const work_base& w, std::uint64_t none) const noexcept {
    std::uint64_t id = none;
    for_each_pool([&](const worker_pool& p) {
        if (p.ledger.runs(w)) id = p.id();
    });
    return id;
}

CMWQ_INLINE bool pool_table::anything_pending() const noexcept {
    bool pending = false;
    for_each_pool([&](const worker_pool& p) { pending |= p.pending(); });
    for_each_bottom_half([&](const bottom_half_pool& p) { pending |= p.pending(); });
    for_each_cpu([&](const cpu_record& r) { pending |= r.bottom_half_thread.wanted(); });
    return pending;
}

// Asks all threads to end before it joins the first, so that they end in parallel and not one after the other.
CMWQ_INLINE void pool_table::end_threads() noexcept {
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.request_end();
        r.bottom_half_thread.request_end();
    });
    for_each_pool([](worker_pool& p) { p.workers.end(); });
    for_each_cpu([](cpu_record& r) { r.idle_thread.leave_idle_class_to_end(); });
    for_each_pool([](worker_pool& p) { p.workers.let_end(); });
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.join();
        r.bottom_half_thread.join();
    });
    for_each_pool([](worker_pool& p) { p.workers.join(); });
}

CMWQ_INLINE void pool_table::forget_threads() noexcept {
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.forget_thread();
        r.bottom_half_thread.forget_thread();
    });
    for_each_pool([](worker_pool& p) { p.workers.forget(); });
}

}}} // namespace cmwq::CMWQ_NS::detail
