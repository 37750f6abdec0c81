// SPDX-License-Identifier: BSL-1.0
//
// Taking a pending item away from its timer or its pool.
#pragma once

#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/env/library_copy.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// If the runtime was not found, either it is gone, or another copy of the library has made it. Ends the program in the
/// second case.
inline void check_found(const directory::lookup& at, std::uint64_t pool_id, const work_base& w) noexcept {
    if (at.runtime == nullptr && !directory::get().has_issued(pool_id)) refuse_item_of_other_copy(w);
}

/// Where a pending instance was found.
enum class found_in : bool { pool, timers };

/// Takes a pending instance away from its timer, its worklist or its inactive list. True: the caller owns PENDING.
/// False: no instance was pending. Waits only while another thread is between its claim and its push.
///
/// `how(look, where, take)` calls `take()` and returns its result: whether the instance was still there.
template <class How>
bool grab_pending(work_base& w, How&& how) noexcept {
    for (backoff b;; b.pause()) {
        if (work_access::is_delayed(w)) {
            if (const std::uint64_t id = work_access::timer(w).armed_in.load(acquire); id != 0) { // [TIM-2]
                const directory::lookup at(id);
                if (at.dead) {
                    work_access::abandon(w);
                    return true;
                }
                check_found(at, id, w);
                const auto take = [&] {
                    return at.runtime->core.timers().disarm(static_cast<delayed_work_base&>(w), id);
                };
                if (at.runtime != nullptr && how(at, found_in::timers, take)) return true;
            }
        }
        if (!work_access::pending(w)) return false;
        if (const std::uint64_t id = work_access::pool_id(work_access::location_of(w)); id != 0) {
            const directory::lookup at(id);
            if (at.dead) {
                work_access::abandon(w);
                return true;
            }
            check_found(at, id, w);
            const auto take = [&] { return at.runtime->pool(id).ledger.steal(w); };
            if (at.runtime != nullptr && how(at, found_in::pool, take)) return true;
        }
    }
}

inline bool grab_pending(work_base& w) noexcept {
    return grab_pending(w, [](const directory::lookup&, found_in, const auto& take) { return take(); });
}

}}} // namespace cmwq::CMWQ_NS::detail
