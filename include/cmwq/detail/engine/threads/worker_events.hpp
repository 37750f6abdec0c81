// SPDX-License-Identifier: BSL-1.0
//
// The events of workers, for the observers of their runtime.
#pragma once

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/observer.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Calls that member of each observer.
inline void tell_of_worker(const pool_ledger& ledger, const worker& w,
                           void (observer::*what)(const worker_event&) noexcept) noexcept {
    observers& who = ledger.env.observing;
    if (!who.any()) return;
    const worker_event e{steady_now(), ledger.shown_number(), w.id};
    who.tell([&](observer& o) { (o.*what)(e); });
}

}}} // namespace cmwq::CMWQ_NS::detail
