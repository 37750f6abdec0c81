// SPDX-License-Identifier: BSL-1.0
//
// The options of a queue: each policy has only the fields that apply to it.
#pragma once

#include <cmwq/attrs.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

/// Handles the exceptions that leave a work function: holds a callable that takes the std::exception_ptr. The worker
/// calls it right after the item; it must not throw. Without a callable such an exception terminates the program at the
/// throw site, as it does with std::thread. Thread safety: as any value. The queue may call the callable on several
/// threads at once.
class exception_handler {
public:
    /// Makes a handler without a callable.
    exception_handler() noexcept = default;

    /// Takes a callable. Errors: an exception that copying or moving it throws, std::bad_alloc.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, exception_handler> &&
                 std::invocable<std::remove_cvref_t<F>&, std::exception_ptr>)
    exception_handler(F&& f) { // NOLINT(google-explicit-constructor): reads as a plain option value
        using callable = std::remove_cvref_t<F>;
        sink_.context = new callable(std::forward<F>(f));
        sink_.call = [](void* c, std::exception_ptr e) { (*static_cast<callable*>(c))(std::move(e)); };
        sink_.destroy = [](void* c) noexcept { delete static_cast<callable*>(c); };
    }

    /// Moves: `other` has no callable afterwards.
    exception_handler(exception_handler&& other) noexcept : sink_(other.release()) {}
    /// Destroys the callable and takes that of `other`, which has none afterwards.
    exception_handler& operator=(exception_handler&& other) noexcept {
        if (this != &other) {
            reset();
            sink_ = other.release();
        }
        return *this;
    }
    /// Destroys the callable.
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

/// The answers of a policy, for the engine.
template <class P>
consteval execution execution_of() {
    return {.pool = P::pool, .managed = P::concurrency_managed, .local_lists = has_local_lists<P>(), .fifo = P::fifo};
}

template <pool_kind Pool, bool Fifo, class Policy>
struct options_for;

/// The options of a queue on the pools of each CPU: `options<bound>`.
template <class Policy>
struct options_for<pool_kind::per_cpu, false, Policy> {
    /// The name in diagnostics, which show all of it. It need not be unique. Empty: the name of the policy.
    std::string_view name = {};

    /// The number of items of this queue that may be active (started, or next in line to start) *on each CPU*: 1 …
    /// 2048. Any other value makes the constructor of the queue throw std::invalid_argument.
    unsigned max_active = Policy::default_max_active;

    /// The pools of each CPU that run the items. If the system does not permit their priority, they have normal
    /// threads, and the runtime reports that once through `runtime_options::on_event`. A value that is no priority
    /// makes the constructor of the queue throw std::invalid_argument.
    cmwq::priority priority = cmwq::priority::normal;

    /// Whether items of this queue stop counting as running once they have started, so that other items may start
    /// beside them.
    bool cpu_intensive = false;

    /// Whether a runtime with `runtime_options::power_efficient` serves the queue by elastic pools, at the nice value
    /// or scheduling class of its priority, instead of the pools of the caller's CPU. Idle CPUs may then stay asleep,
    /// `max_active` counts for the whole machine, and its items start in no particular order, as those of an `elastic`
    /// queue. On other runtimes this changes nothing.
    bool power_efficient = false;

    /// Whether the queue has a rescuer: one thread, made in advance, that runs the items of this queue when no worker
    /// can be made, because the system refuses threads or `runtime_options::max_threads` is reached. Use it for queues
    /// on whose progress others depend, for example a queue that writes memory back. The rescuer runs one item at a
    /// time, at normal priority, and stops as soon as there are workers. The constructor of the queue throws
    /// std::system_error if the system refuses the thread of the rescuer.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Whether <cmwq/control.hpp> shows the attributes of this queue under its name, and lets the user of the program
    /// change them. An exported queue of the same name on the runtime makes the constructor of the queue throw
    /// std::invalid_argument.
    bool exported = false;

    /// Receives the exceptions that leave a work function. None: such an exception terminates the program.
    exception_handler on_exception = {};
};

/// The options of a queue on attribute-keyed pools without a strict order: `options<unbound>`, `options<elastic>`.
template <class Policy>
struct options_for<pool_kind::attrs_keyed, false, Policy> {
    /// The name in diagnostics, which show all of it. It need not be unique. Empty: the name of the policy.
    std::string_view name = {};

    /// The number of items of this queue that may be active (started, or next in line to start) *on the whole machine*:
    /// 1 … 2048. It is divided among the NUMA nodes in proportion to the queue's CPUs, if each of them gets
    /// `min_active`; otherwise any node can use all of it. Any other value makes the constructor of the queue throw
    /// std::invalid_argument.
    unsigned max_active = Policy::default_max_active;

    /// The smallest share of a NUMA node: if one would get less of `max_active`, the limit is not divided among the
    /// nodes. 1 … `max_active`; 0 stands for 8, or for `max_active` if that is less. A chain of that many items that
    /// wait for each other completes, if the other items of the queue end. A value above `max_active` makes the
    /// constructor of the queue throw std::invalid_argument.
    unsigned min_active = 0;

    /// The threads of the pools, and the CPUs on which they run. Impossible attributes make the constructor of the
    /// queue throw std::invalid_argument.
    cmwq::attrs attrs = {};

    /// Whether the queue has a rescuer: one thread, made in advance, that runs the items of this queue when no worker
    /// can be made, because the system refuses threads or `runtime_options::max_threads` is reached. Use it for queues
    /// on whose progress others depend, for example a queue that writes memory back. The rescuer runs one item at a
    /// time, at normal priority, and stops as soon as there are workers. The constructor of the queue throws
    /// std::system_error if the system refuses the thread of the rescuer.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Whether <cmwq/control.hpp> shows the attributes of this queue under its name, and lets the user of the program
    /// change them. An exported queue of the same name on the runtime makes the constructor of the queue throw
    /// std::invalid_argument.
    bool exported = false;

    /// Receives the exceptions that leave a work function. None: such an exception terminates the program.
    exception_handler on_exception = {};
};

/// The options of a queue on attribute-keyed pools in strict order: `options<ordered>`.
template <class Policy>
struct options_for<pool_kind::attrs_keyed, true, Policy> {
    /// The name in diagnostics, which show all of it. It need not be unique. Empty: the name of the policy.
    std::string_view name = {};

    /// The threads of the pool, and the CPUs on which they run. One pool serves the queue, so the affinity scope has no
    /// effect. Impossible attributes make the constructor of the queue throw std::invalid_argument.
    cmwq::attrs attrs = {};

    /// Whether the queue has a rescuer: one thread, made in advance, that runs the items of this queue when no worker
    /// can be made, because the system refuses threads or `runtime_options::max_threads` is reached. Use it for queues
    /// on whose progress others depend, for example a queue that writes memory back. The rescuer runs one item at a
    /// time, at normal priority, and stops as soon as there are workers. The constructor of the queue throws
    /// std::system_error if the system refuses the thread of the rescuer.
    bool rescuer = false;

    /// Whether `runtime::freeze()` stops this queue.
    bool freezable = false;

    /// Whether <cmwq/control.hpp> shows the attributes of this queue under its name, and lets the user of the program
    /// change them. An exported queue of the same name on the runtime makes the constructor of the queue throw
    /// std::invalid_argument.
    bool exported = false;

    /// Receives the exceptions that leave a work function. None: such an exception terminates the program.
    exception_handler on_exception = {};
};

/// The options of a queue of bottom halves: `options<bh>`.
template <class Policy>
struct options_for<pool_kind::dispatcher, true, Policy> {
    /// The name in diagnostics, which show all of it. It need not be unique. Empty: the name of the policy.
    std::string_view name = {};

    /// The bottom-half contexts of each CPU that run the items: `normal`, or `high`, which goes first. `fifo` makes the
    /// constructor of the queue throw std::invalid_argument.
    cmwq::priority priority = cmwq::priority::normal;

    /// Receives the exceptions that leave a work function. None: such an exception terminates the program.
    exception_handler on_exception = {};
};

} // namespace detail

/// The options of a queue of this policy, for designated initializers: `{.name = "io", .max_active = 8}`. The fields of
/// each policy are those of `detail::options_for`.
template <execution_policy Policy = bound>
using options = detail::options_for<Policy::pool, Policy::fifo, Policy>;

}} // namespace cmwq::CMWQ_NS
