// SPDX-License-Identifier: BSL-1.0
//
// Plain descriptions of threads, common to all backends.
#pragma once

#include <cmwq/detail/config.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

enum class sched_class : unsigned char {
    normal, ///< SCHED_OTHER
    high,   ///< SCHED_OTHER at nice -20, where permitted
    fifo,   ///< SCHED_FIFO at its lowest priority
    idle,   ///< SCHED_IDLE: runs when nothing else wants the CPU
};

struct thread_attributes {
    char name[16] = "cmwq"; ///< NUL-terminated, as the system shows it
    int cpu = -1;           ///< bind to this CPU; -1: do not bind
    sched_class sched = sched_class::normal;
};

/// What became of the attributes: each field is 0, or the errno with which the system refused that attribute.
struct thread_refusals {
    int cpu = 0;
    int sched = 0;
};

using thread_body = void (*)(void*);

/// CPU time that a thread has used and time that it has waited for a CPU, both in nanoseconds since its start.
struct thread_times {
    std::int64_t cpu;
    std::int64_t wait;
};

} // namespace cmwq::inline CMWQ_NS::detail
