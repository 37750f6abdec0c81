// SPDX-License-Identifier: BSL-1.0
//
// What the library keeps per thread. One record, so that the model backend can keep one per logical thread.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#else

#include <sched.h>

namespace cmwq::inline CMWQ_NS::detail {

class blocking_observer;
class worker;

struct thread_slots {
    blocking_observer* observer = nullptr; ///< whom a blocking_region tells; null outside workers
    worker* current_worker = nullptr;      ///< the worker that this thread is, if any
};

inline thread_slots& this_thread_slots() noexcept {
    static constinit thread_local thread_slots slots;
    return slots;
}

/// The CPU that the calling thread is on, or was on a moment ago; 0 where the system does not tell.
inline unsigned current_cpu() noexcept {
    const int cpu = ::sched_getcpu();
    return cpu < 0 ? 0u : static_cast<unsigned>(cpu);
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
