// SPDX-License-Identifier: BSL-1.0
//
// The options of a queue: only the fields that mean something for its policy exist.
#pragma once

#include <cmwq/attrs.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cmwq::inline CMWQ_NS {

/// What to do with an exception that leaves a work function: a callable taking the std::exception_ptr. It is called on
/// the worker, right after the item; it must not throw. Without one such an exception terminates the program at the
/// throw site, as it does with std::thread.
class exception_handler {
public:
    exception_handler() noexcept = default;

    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, exception_handler> &&
                 std::invocable<std::remove_cvref_t<F>&, std::exception_ptr>)
    exception_handler(F&& f) { // NOLINT(google-explicit-constructor): reads as a plain option value
        using callable = std::remove_cvref_t<F>;
        sink_.context = new callable(std::forward<F>(f));
        sink_.call = [](void* c, std::exception_ptr e) { (*static_cast<callable*>(c))(std::move(e)); };
        sink_.destroy = [](void* c) noexcept { delete static_cast<callable*>(c); };
    }

    exception_handler(exception_handler&& other) noexcept : sink_(other.release()) {}
    exception_handler& operator=(exception_handler&& other) noexcept {
        if (this != &other) {
            reset();
            sink_ = other.release();
        }
        return *this;
    }
    ~exception_handler() { reset(); }

private:
    friend class workqueue_base;

    [[nodiscard]] const detail::exception_sink& peek() const noexcept { return sink_; }
    detail::exception_sink release() noexcept { return std::exchange(sink_, {}); }
    void reset() noexcept {
        if (sink_.destroy != nullptr) sink_.destroy(sink_.context);
        sink_ = {};
    }

    detail::exception_sink sink_;
};

namespace detail {

template <pool_kind Pool, bool Fifo, class Policy>
struct options_for;

template <class Policy>
struct options_for<pool_kind::per_cpu, false, Policy> {
    /// Shown in diagnostics, whole; need not be unique. Empty: the policy's name.
    std::string_view name = {};

    /// How many items of this queue may be active (started, or next in line to start) *on each CPU*. 1 … 2048; anything
    /// else makes the constructor throw std::invalid_argument.
    unsigned max_active = Policy::default_max_active;

    /// Which pools of each CPU run the items. What the system does not permit falls back to normal threads and is
    /// reported once through `runtime_options::on_event`.
    cmwq::priority priority = cmwq::priority::normal;

    /// Items of this queue do not count as running once they have started: others may start beside them.
    bool cpu_intensive = false;

    /// On a runtime with `runtime_options::power_efficient` the queue is served by elastic pools, at the nice value or
    /// scheduling class of its priority, instead of those of the caller's CPU, so that idle CPUs may stay asleep; its
    /// limit then counts for the whole machine. On other runtimes this changes nothing.
    bool power_efficient = false;

    /// One thread, made in advance, that runs the items of this queue where no worker can be made: when the system
    /// refuses threads, or at `runtime_options::max_threads`. For queues that others rely on to get on, to write memory
    /// back for instance. It runs one item at a time, at normal priority, and steps back as soon as there are workers.
    /// The constructor of the queue throws std::system_error if that thread cannot be made.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Receives exceptions that leave a work function. None: they terminate the program.
    exception_handler on_exception = {};
};

template <class Policy>
struct options_for<pool_kind::attrs_keyed, false, Policy> {
    /// Shown in diagnostics, whole; need not be unique. Empty: the policy's name.
    std::string_view name = {};

    /// How many items of this queue may be active (started, or next in line to start) *on the whole machine*. Each NUMA
    /// node gets its share by its CPUs, rounded up and no less than `min_active`, so on several nodes the sum may be
    /// more. 1 … 2048; anything else makes the constructor throw std::invalid_argument.
    unsigned max_active = Policy::default_max_active;

    /// What each NUMA node gets at least: chains of so many items that wait for each other always complete. The sum over
    /// the nodes may exceed `max_active` for its sake. 1 ... `max_active`; 0: 8, or `max_active` if that is less.
    unsigned min_active = 0;

    /// What the threads are and where they run.
    cmwq::attrs attrs = {};

    /// One thread, made in advance, that runs the items of this queue where no worker can be made: when the system
    /// refuses threads, or at `runtime_options::max_threads`. For queues that others rely on to get on, to write memory
    /// back for instance. It runs one item at a time, at normal priority, and steps back as soon as there are workers.
    /// The constructor of the queue throws std::system_error if that thread cannot be made.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Receives exceptions that leave a work function. None: they terminate the program.
    exception_handler on_exception = {};
};

template <class Policy>
struct options_for<pool_kind::attrs_keyed, true, Policy> {
    /// Shown in diagnostics, whole; need not be unique. Empty: the policy's name.
    std::string_view name = {};

    /// What the threads are and where they run. One pool serves the queue, so the affinity scope means nothing to it.
    cmwq::attrs attrs = {};

    /// One thread, made in advance, that runs the items of this queue where no worker can be made: when the system
    /// refuses threads, or at `runtime_options::max_threads`. For queues that others rely on to get on, to write memory
    /// back for instance. It runs one item at a time, at normal priority, and steps back as soon as there are workers.
    /// The constructor of the queue throws std::system_error if that thread cannot be made.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Receives exceptions that leave a work function. None: they terminate the program.
    exception_handler on_exception = {};
};

template <class Policy>
struct options_for<pool_kind::dispatcher, true, Policy> {
    /// Shown in diagnostics, whole; need not be unique. Empty: the policy's name.
    std::string_view name = {};

    /// Which bottom-half contexts of each CPU: `normal` or `high`, which goes first. Not `fifo`: the constructor throws
    /// std::invalid_argument.
    cmwq::priority priority = cmwq::priority::normal;

    /// Receives exceptions that leave a work function. None: they terminate the program.
    exception_handler on_exception = {};
};

} // namespace detail

/// The options that a queue of this policy has, for designated initialisers: `{.name = "io", .max_active = 8}`.
template <execution_policy Policy = bound>
using options = detail::options_for<Policy::pool, Policy::fifo, Policy>;

} // namespace cmwq::inline CMWQ_NS
