// SPDX-License-Identifier: BSL-1.0
//
// Plain descriptions of threads, common to all backends.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>

#include <cerrno>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

enum class sched_class : unsigned char {
    normal, ///< SCHED_OTHER
    batch,  ///< SCHED_BATCH
    idle,   ///< SCHED_IDLE: runs when no other thread needs the CPU
    fifo,   ///< SCHED_FIFO at its lowest priority
};

/// Whether a thread keeps the files open from which other threads read its state: two descriptors, and half the time.
enum class state_files : bool { reopened, kept };

/// The default class and nice value of a thread: those of the process.
struct own_priority {
    sched_class sched = sched_class::normal; ///< never a real-time class
    int nice = 0;
};

/// The attributes that a new thread applies to itself: apply_to_this_thread().
struct thread_attributes {
    char name[16] = "cmwq";                  ///< NUL-terminated, as the system shows it
    const cpuset* cpus = nullptr;            ///< bind to these CPUs; null: do not bind
    sched_class sched = sched_class::normal; ///< normal: that of `own`
    int nice = 0;                            ///< 0: that of `own`
    own_priority own = {};                   ///< the class and nice value of the process
    bool exact_timeouts = false;             ///< time-outs end on time; otherwise up to 50 µs later, to save wake-ups

    [[nodiscard]] sched_class wanted_sched() const noexcept { return sched == sched_class::normal ? own.sched : sched; }
    [[nodiscard]] int wanted_nice() const noexcept { return nice == 0 ? own.nice : nice; }
};

/// The result of applying attributes: each field is 0, or the errno with which the system refused that attribute.
struct thread_refusals {
    int cpus = 0;
    int sched = 0;
    int nice = 0;

    /// False also if none of the CPUs is there now: the library binds the thread when one comes back.
    [[nodiscard]] bool binding_is_forbidden() const noexcept { return cpus != 0 && cpus != EINVAL; }
};

using thread_body = void (*)(void*);

/// CPU time that a thread has used and time that it has waited for a CPU, both in nanoseconds since its start.
struct thread_times {
    std::int64_t cpu;
    std::int64_t wait;
};

}}} // namespace cmwq::CMWQ_NS::detail
