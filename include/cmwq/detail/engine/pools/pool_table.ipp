// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_table.

#include <cmwq/detail/engine/pools/pool_table.hpp>

#include <cstdint>
#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE pool_table::pool_table(pool_env& env, std::uint64_t first_pool_id)
    : pool_finder(first_pool_id),
      registry_(env, first_pool_id + std::uint64_t{env.cpus.nr_cpus()} * nr_pools_of_cpu, cpus_),
      requests_(env.requests) {
    env.finder = this;
    for (unsigned index = 0; index < env.cpus.nr_cpus(); ++index) {
        cpus_.push_back(std::make_unique<cpu_record>(env, first_pool_id + std::uint64_t{index} * nr_pools_of_cpu,
                                                     env.cpus.number_of(index), index));
    }
}

CMWQ_INLINE std::uint64_t pool_table::id_of_runner(const work_base& w, std::uint64_t none) const noexcept {
    std::uint64_t id = none;
    for_each_pool([&](const item_pool& p) {
        if (p.ledger.runs(w)) id = p.id();
    });
    return id;
}

CMWQ_INLINE bool pool_table::anything_pending() const noexcept {
    bool pending = false;
    for_each_pool([&](const item_pool& p) { pending |= p.pending(); });
    for_each_bottom_half([&](const bottom_half_pool& p) { pending |= p.pending(); });
    for_each_cpu([&](const cpu_record& r) { pending |= r.bottom_half_thread.wakeup.wanted(); });
    return pending;
}

// Asks all threads to end before it joins the first, so that they end in parallel and not one after the other.
CMWQ_INLINE void pool_table::end_threads() noexcept {
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.request_end();
        r.bottom_half_thread.request_end();
    });
    for_each_pool([](item_pool& p) { p.threads->end(); });
    for_each_cpu([](cpu_record& r) { r.idle_thread.leave_idle_class_to_end(); });
    for_each_pool([](item_pool& p) { p.threads->let_end(); });
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.join();
        r.bottom_half_thread.join();
    });
    for_each_pool([](item_pool& p) { p.threads->join(); });
}

CMWQ_INLINE void pool_table::forget_threads() noexcept {
    for_each_cpu([](cpu_record& r) {
        r.idle_thread.forget_thread();
        r.bottom_half_thread.forget_thread();
    });
    for_each_pool([](item_pool& p) { p.threads->forget(); });
}

}}} // namespace cmwq::CMWQ_NS::detail
