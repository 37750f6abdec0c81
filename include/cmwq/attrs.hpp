// SPDX-License-Identifier: BSL-1.0
//
// attrs: the threads of an unbound pool, and the CPUs on which they run.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS {

class cpuset; // <cmwq/cpuset.hpp>: included only by code that names CPUs

/// The scheduling class of the threads of a pool.
enum class scheduling : unsigned char {
    normal, ///< the class of the process: SCHED_OTHER, unless its main thread has SCHED_BATCH or SCHED_IDLE
    batch,  ///< SCHED_BATCH: does not preempt other threads when it wakes up
    idle,   ///< SCHED_IDLE: runs when no other thread is ready to run on the CPU
    fifo,   ///< SCHED_FIFO at its lowest priority, where the system permits it
};

/// The attributes of the pools that serve a queue: their threads and their CPUs. Queues of equal attributes share their
/// pools. Thread safety: as any value: while one thread changes it, no other thread may use it.
///
///     auto a = cmwq::attrs{}.nice(5).cpus(cmwq::cpuset::range(0, 8)).affinity(cmwq::affinity_scope::cache);
///
/// Impossible attributes (a nice value outside of -20 ... 19, a set of CPUs none of which the runtime may use) make the
/// constructor of the queue, or `workqueue::apply()`, throw std::invalid_argument; nothing has changed then. Attributes
/// that the system does not permit (a negative nice value, SCHED_FIFO) fall back to normal, and the runtime reports
/// that once through `runtime_options::on_event`.
class attrs {
public:
    /// Makes the default attributes: normal threads on all CPUs that the runtime uses for unbound items.
    attrs() noexcept = default;
    /// Copies. Errors: std::bad_alloc.
    attrs(const attrs& other);
    /// Moves: `other` has no CPUs of its own afterwards, see `on_all_cpus()`. Errors: none.
    attrs(attrs&& other) noexcept
        : cpus_(other.cpus_), nice_(other.nice_), scheduling_(other.scheduling_), affinity_(other.affinity_),
          strict_(other.strict_) {
        other.cpus_ = nullptr;
    }
    /// Copies. Errors: std::bad_alloc; nothing changed then.
    attrs& operator=(const attrs& other) { return *this = attrs(other); }
    /// Moves: `other` may be assigned to and destroyed afterwards. Errors: none.
    attrs& operator=(attrs&& other) noexcept;
    /// Frees the CPU set.
    ~attrs();

    /// Sets the nice value of the threads, from -20 (most of the CPU) to 19 (least of it). Default 0: the nice value of
    /// the process's main thread.
    attrs& nice(int n) noexcept {
        nice_ = n;
        return *this;
    }
    /// Returns the nice value.
    [[nodiscard]] int nice() const noexcept { return nice_; }

    /// Sets the scheduling class of the threads. Default: `normal`.
    attrs& scheduling(cmwq::scheduling s) noexcept {
        scheduling_ = s;
        return *this;
    }
    /// Returns the scheduling class.
    [[nodiscard]] cmwq::scheduling scheduling() const noexcept { return scheduling_; }

    /// Sets the CPUs on which items may run, within the runtime's unbound CPUs. Default: all of those. A queue accepts
    /// only a set that has a CPU in common with them, so never the empty set. Errors: std::bad_alloc.
    attrs& cpus(const cpuset& set);
    /// Returns the CPUs that were set, or the empty set if `on_all_cpus()`. The reference is valid until this object
    /// changes or ends.
    [[nodiscard]] const cpuset& cpus() const noexcept;
    /// Whether no CPUs were set: items may run on all unbound CPUs of the runtime.
    [[nodiscard]] bool on_all_cpus() const noexcept { return cpus_ == nullptr; }

    /// Sets the scope: one pool serves each pod of the scope. Default: the runtime's default scope, also after that has
    /// changed.
    attrs& affinity(affinity_scope scope) noexcept {
        affinity_ = scope;
        return *this;
    }
    /// Returns the scope.
    [[nodiscard]] affinity_scope affinity() const noexcept { return affinity_; }

    /// Sets whether the threads of a pool may run on the CPUs of their pod only. Default false: they prefer those CPUs.
    attrs& strict(bool on) noexcept {
        strict_ = on;
        return *this;
    }
    /// Returns whether the threads may run on the CPUs of their pod only.
    [[nodiscard]] bool strict() const noexcept { return strict_; }

    /// Whether all attributes are equal. Attributes that name no CPUs never equal attributes that name some.
    friend bool operator==(const attrs& a, const attrs& b) noexcept {
        return a.nice_ == b.nice_ && a.scheduling_ == b.scheduling_ && a.affinity_ == b.affinity_ &&
               a.strict_ == b.strict_ && a.same_cpus(b);
    }

private:
    [[nodiscard]] bool same_cpus(const attrs& other) const noexcept;

    const cpuset* cpus_ = nullptr; // owned; null: all CPUs
    int nice_ = 0;
    cmwq::scheduling scheduling_ = cmwq::scheduling::normal;
    affinity_scope affinity_ = affinity_scope::default_;
    bool strict_ = false;
};

}} // namespace cmwq::CMWQ_NS
