// SPDX-License-Identifier: BSL-1.0
//
// The stand-ins of a load, its monitor and local lists, for pools without them.
#pragma once

#include <cmwq/detail/engine/threads/load_monitor.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As load, for a pool that runs as many workers as there are items: a worker that blocks keeps no item from starting.
class no_load {
public:
    static constexpr bool replaces_blocked = false;

    no_load(pool_ledger& /*ledger*/, spare_workers& spares, const busy_workers<worker>& /*working*/,
            local_lists* /*locals*/) noexcept
        : spares_(spares) {}

    [[nodiscard]] pool_snapshot snapshot_locked(const pool_ledger& ledger, bool creating) const noexcept
        CMWQ_REQUIRES(ledger.lock) {
        return snapshot_without_load(ledger, spares_, creating);
    }
    [[nodiscard]] static constexpr bool wants_more_running() noexcept { return true; }
    static void begin_work_locked(worker& /*self*/) noexcept {}
    static void end_work_locked(worker& /*self*/) noexcept {}
    static void begin_run_locked(worker& /*self*/) noexcept {}
    static void end_run_locked(worker& /*self*/) noexcept {}
    static void begin_idle_locked(worker& /*self*/) noexcept {}
    static void lock_after_run(pool_ledger& ledger, worker& /*self*/) noexcept CMWQ_ACQUIRE(ledger.lock) {
        ledger.lock.lock();
    }
    void wake_a_worker() noexcept { spares_.remind(); }
    static void detectors_needed() noexcept {}

private:
    spare_workers& spares_;
};

class no_load_monitor {
public:
    no_load_monitor(pool_ledger& /*ledger*/, no_load& /*l*/, const busy_workers<worker>& /*working*/,
                    const pool_spec& /*spec*/) noexcept {}
};

/// As local_lists, for a pool whose workers have none.
class no_local_lists {
public:
    no_local_lists(const busy_workers<worker>& /*working*/, const spare_workers& /*spares*/) noexcept {}

    [[nodiscard]] static constexpr bool any() noexcept { return false; }
    [[nodiscard]] static work_base* take_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.take_locked(self);
    }
    [[nodiscard]] static constexpr work_base* take_follow_up(pool_ledger& /*ledger*/, worker& /*self*/) noexcept {
        return nullptr;
    }
    template <class F>
    [[nodiscard]] static constexpr work_base* take_if_locked(pool_ledger& /*ledger*/, worker& /*self*/,
                                                             const F& /*f*/) noexcept {
        return nullptr;
    }
    static void begin_work_locked(pool_ledger& /*ledger*/, worker& /*self*/) noexcept {}
    static void begin_run_locked(pool_ledger& /*ledger*/, worker& /*self*/) noexcept {}
    static void end_run_locked(pool_ledger& /*ledger*/, worker& /*self*/) noexcept {}
    static void end_work_locked(pool_ledger& /*ledger*/, worker& /*self*/) noexcept {}
    static void recall_locked(pool_ledger& /*ledger*/) noexcept {}
};

// The part as item_pool knows it.
inline load* part_of(load& l) noexcept { return &l; }
inline load* part_of(no_load& /*l*/) noexcept { return nullptr; }
inline load_monitor* part_of(load_monitor& m) noexcept { return &m; }
inline load_monitor* part_of(no_load_monitor& /*m*/) noexcept { return nullptr; }
inline local_lists* part_of(local_lists& l) noexcept { return &l; }
inline local_lists* part_of(no_local_lists& /*l*/) noexcept { return nullptr; }

}}} // namespace cmwq::CMWQ_NS::detail
