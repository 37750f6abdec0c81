// SPDX-License-Identifier: BSL-1.0
//
// attrs: what the threads of an unbound pool are, and where they run.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/detail/base/config.hpp>

namespace cmwq::inline CMWQ_NS {

class cpuset; // <cmwq/cpuset.hpp>: who names CPUs has it, who only queues work does without

/// The scheduling class of the threads of a pool.
enum class scheduling : unsigned char {
    normal, ///< the process's own: SCHED_OTHER, unless its main thread has SCHED_BATCH or SCHED_IDLE
    batch,  ///< SCHED_BATCH: never preempts others on waking
    idle,   ///< SCHED_IDLE: runs when nothing else wants the CPU
    fifo,   ///< SCHED_FIFO at its lowest priority, where permitted
};

/// The attributes of the pools that serve a queue, and nothing else: queues of equal attributes share their pools.
/// A value; not thread safe, as any value.
///
///     auto a = cmwq::attrs{}.nice(5).cpus(cmwq::cpuset::range(0, 8)).affinity(cmwq::affinity_scope::cache);
///
/// What is impossible (a nice value outside of -20 ... 19, CPUs of which the runtime may use none) makes the constructor
/// of the queue, or `apply()`, throw std::invalid_argument, and changes nothing. What the system does not permit (a
/// negative nice value, SCHED_FIFO) falls back to normal and is reported once through `runtime_options::on_event`.
class attrs {
public:
    attrs() noexcept = default;
    attrs(const attrs& other); ///< Errors: std::bad_alloc.
    attrs(attrs&& other) noexcept
        : cpus_(other.cpus_), nice_(other.nice_), scheduling_(other.scheduling_), affinity_(other.affinity_),
          strict_(other.strict_) {
        other.cpus_ = nullptr;
    }
    attrs& operator=(const attrs& other) { return *this = attrs(other); } ///< Errors: std::bad_alloc.
    attrs& operator=(attrs&& other) noexcept;
    ~attrs();

    /// -20 (most of the CPU) to 19 (least of it). Default 0: the process's own, that of its main thread.
    attrs& nice(int n) noexcept {
        nice_ = n;
        return *this;
    }
    [[nodiscard]] int nice() const noexcept { return nice_; }

    attrs& scheduling(cmwq::scheduling s) noexcept {
        scheduling_ = s;
        return *this;
    }
    [[nodiscard]] cmwq::scheduling scheduling() const noexcept { return scheduling_; }

    /// Where items may run, within the runtime's unbound CPUs. Not called: on all of those. A set given here must have
    /// a CPU in common with them, so an empty one never does. Errors: std::bad_alloc.
    attrs& cpus(const cpuset& set);
    /// Empty if `on_all_cpus()`.
    [[nodiscard]] const cpuset& cpus() const noexcept;
    [[nodiscard]] bool on_all_cpus() const noexcept { return cpus_ == nullptr; }

    /// Which CPUs are served by one pool. Default: the runtime's default scope, also when that changes.
    attrs& affinity(affinity_scope scope) noexcept {
        affinity_ = scope;
        return *this;
    }
    [[nodiscard]] affinity_scope affinity() const noexcept { return affinity_; }

    /// Whether the threads of a pool are confined to the CPUs of their pod. Default: they prefer them.
    attrs& strict(bool on) noexcept {
        strict_ = on;
        return *this;
    }
    [[nodiscard]] bool strict() const noexcept { return strict_; }

    friend bool operator==(const attrs& a, const attrs& b) noexcept {
        return a.nice_ == b.nice_ && a.scheduling_ == b.scheduling_ && a.affinity_ == b.affinity_ &&
               a.strict_ == b.strict_ && a.same_cpus(b);
    }

private:
    [[nodiscard]] bool same_cpus(const attrs& other) const noexcept;

    const cpuset* cpus_ = nullptr; // owned; null: all
    int nice_ = 0;
    cmwq::scheduling scheduling_ = cmwq::scheduling::normal;
    affinity_scope affinity_ = affinity_scope::default_;
    bool strict_ = false;
};

} // namespace cmwq::inline CMWQ_NS
