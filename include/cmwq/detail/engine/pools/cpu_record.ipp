// SPDX-License-Identifier: BSL-1.0
//
// The body of cpu_record.

#include <cmwq/detail/engine/pools/cpu_record.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE cpu_record::cpu_record(const pool_env& env, std::uint64_t first_pool_id, unsigned cpu_number,
                                   unsigned index)
    : cpu(cpu_number), idle_thread(env, cpu_number), pools{{env, first_pool_id, cpu_number, pool_serves::one_cpu},
                                                           {env, first_pool_id + 1, cpu_number, pool_serves::one_cpu},
                                                           {env, first_pool_id + 2, cpu_number, pool_serves::one_cpu}},
      bottom_half_thread(env, cpu_number, bottom_halves[0], bottom_halves[1]),
      bottom_halves{{env, first_pool_id + nr_priorities, cpu_number, bottom_half_thread.wakeup, &bottom_halves[1]},
                    {env, first_pool_id + nr_priorities + 1, cpu_number, bottom_half_thread.wakeup, nullptr}} {
    for (unsigned p = 0; p < nr_priorities; ++p) {
        pool_spec spec{.cpus = cpuset{cpu}, .pod = cpuset{cpu}, .managed = true};
        if (p == static_cast<unsigned>(priority::high)) spec.nice = -20;
        if (p == static_cast<unsigned>(priority::fifo)) spec.sched = sched_class::fifo;
        pools[p].configure(std::move(spec), cpuset{index});
        idle_thread.watch(*pools[p].concurrency, sentinel::near::own_cpu);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
