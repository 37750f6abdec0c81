// SPDX-License-Identifier: BSL-1.0
//
// Shared by the searches over the engine: the options of a search, and a runtime on a small machine. The runtime is
// made and warmed up before the search begins, so that the search spends its executions on the protocol under test.
#pragma once

#include <cmwq/cmwq.hpp>
#include <model/explore.hpp>

#include "nanoseconds.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cmwq_test {

namespace model = cmwq::detail::model;

/// The options of a search with this name on a machine with one CPU. `size`: relative to other searches.
inline model::options search(std::string name, double size, unsigned preemptions = 2) {
    model::options o;
    o.name = std::move(name);
    o.around.cpus = 1;
    o.steps = static_cast<std::uint64_t>(size * 300'000);
    o.preemptions = preemptions;
    o.random_executions = 1'000'000; // as many as there are steps for
    return o;
}

/// The options of a search on a machine with `cpus` CPUs.
inline model::options search_on(unsigned cpus, std::string name, double size, unsigned preemptions = 2) {
    model::options o = search(std::move(name), size, preemptions);
    o.around.cpus = cpus;
    return o;
}

/// A search without random executions: in these a sentinel may look in vain so often that it naps.
inline model::options systematic(unsigned cpus, const char* name, double size) {
    model::options o = search_on(cpus, name, size);
    o.random_executions = 0;
    return o;
}

/// A search in which time also passes while threads could run.
inline model::options with_time(std::string name, double size) {
    model::options o = search(std::move(name), size);
    o.time_jumps = 2;
    return o;
}

/// The options of a machine. An option of the queue has no effect if the policy of the queue does not have it.
struct setup {
    cmwq::attrs attributes = {};            ///< of the queue
    std::optional<cmwq::attrs> others = {}; ///< a second queue with these attributes keeps its pools warm
    unsigned max_active = 0;                ///< of the queue; 0: the default of its policy
    bool sentinel = false;
    bool warm = true;           ///< each pool has two workers when the search begins, and all threads sleep
    bool end_searched = false;  ///< the destructors of queue and runtime are part of the search
    bool cpu_intensive = false; ///< of the queue
    std::int64_t may_block_threshold = ms;
    bool rescuer = false;   ///< of the queue
    bool freezable = false; ///< of the queue
    unsigned max_threads = 0;
    cmwq::thread_source* threads = nullptr;
    std::int64_t idle_timeout = 300'000 * ms;
    unsigned min_active = 0;                  ///< of the queue; 0: the default
    std::optional<cmwq::topology> shape = {}; ///< of the machine; none: all CPUs on one node
};

/// Attributes with which each CPU has a pool of its own: a few searches need several pools on one node.
inline cmwq::attrs pool_for_each_cpu() { return cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu).strict(true); }

/// A runtime with a queue. It is the first object in the body of a search.
template <class Policy>
class machine_for {
    using queue_type = cmwq::workqueue<Policy>;

public:
    explicit machine_for(setup s = {})
        : setup_(s), rt(runtime_options(s)), made_(std::in_place, rt, options(s)), q(*made_) {
        if (s.others) keeper_.emplace(rt, queue_options("keeper", *s.others, s.max_active));
        if (s.warm) {
            warm(q);
            if (keeper_) warm(*keeper_);
        }
        quiet_.end();
        began_ = model::elapsed();
    }
    ~machine_for() {
        if (!setup_.end_searched) quiet_.begin();
    }
    machine_for(const machine_for&) = delete;
    machine_for& operator=(const machine_for&) = delete;

    /// Destroys the queue as part of the search. `q` refers to no object afterwards.
    void end_queue() { made_.reset(); }

    /// Virtual time since the search began. In a search without time jumps it passes only when no thread can go on. If
    /// no time has passed, no thread had to wait until a detector found an item that another thread had missed.
    [[nodiscard]] std::int64_t waited() const { return model::elapsed() - began_; }

    static cmwq::options<Policy> queue_options(const char* name, const cmwq::attrs& a, unsigned max_active) {
        cmwq::options<Policy> o{.name = name};
        if constexpr (requires { o.attrs; }) o.attrs = a;
        if constexpr (requires { o.max_active; }) {
            if (max_active != 0) o.max_active = max_active;
        }
        return o;
    }

private:
    static cmwq::options<Policy> options(const setup& s) {
        auto o = queue_options("q", s.attributes, s.max_active);
        if constexpr (requires { o.cpu_intensive; }) o.cpu_intensive = s.cpu_intensive;
        if constexpr (requires { o.min_active; }) o.min_active = s.min_active;
        o.rescuer = s.rescuer;
        o.freezable = s.freezable;
        return o;
    }
    static cmwq::runtime_options runtime_options(const setup& s) {
        cmwq::runtime_options o;
        o.may_block_threshold = std::chrono::nanoseconds{s.may_block_threshold};
        o.idle_timeout = std::chrono::nanoseconds{s.idle_timeout};
        o.sentinel = s.sentinel;
        o.max_threads = s.max_threads;
        o.threads = s.threads;
        o.machine =
            s.shape.value_or(cmwq::topology::flat(cmwq::cpuset::range(0, model::nr_cpus()))); // not the real one
        return o;
    }
    void warm(queue_type& queue) {
        for (const unsigned cpu : rt.cpus()) {
            cmwq::work first{[] {}};
            queue.queue_on(cpu, first);
            queue.flush();
        }
        // Time passes when no thread can go on: afterwards all threads sleep, and the monitor is disarmed.
        model::sleep(1000 * ms);
    }

    const setup setup_;
    model::unsearched quiet_;
    std::int64_t began_ = 0;

public:
    cmwq::runtime rt;

private:
    std::optional<queue_type> made_, keeper_;

public:
    queue_type& q;
};

/// Blocks an item, in a blocking_region of the given kind or unannotated.
inline void wait_at(model::semaphore& gate, std::optional<cmwq::block_kind> annotation) {
    if (!annotation) return gate.acquire();
    const cmwq::blocking_region region(*annotation);
    gate.acquire();
}

using machine = machine_for<cmwq::bound>;
using unbound_machine = machine_for<cmwq::unbound>;
using elastic_machine = machine_for<cmwq::elastic>;
using ordered_machine = machine_for<cmwq::ordered>;

/// One item at a time, in the pools of elastic queues.
struct strand : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};
using strand_machine = machine_for<strand>;

} // namespace cmwq_test
