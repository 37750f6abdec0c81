// SPDX-License-Identifier: BSL-1.0
//
// As machine.hpp, for queues whose pools are chosen by attributes.
#pragma once

#include "model/machine.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cmwq_test {

struct keyed_setup {
    cmwq::attrs attributes = {};
    std::optional<cmwq::attrs> others = {}; ///< there are warm pools of these, too
    unsigned max_active = 256;              ///< of the queue, if it has such an option
    bool sentinel = false;
    bool warm = true;          ///< two workers are in each pool when the search begins, and everybody sleeps
    bool end_searched = false; ///< the destructors of queue and runtime are part of the search
    bool rescuer = false;      ///< of the queue
    bool freezable = false;    ///< of the queue
    cmwq::thread_source* threads = nullptr;
};

/// Each CPU has a pool of its own; a few searches need several on one node.
inline cmwq::attrs pool_for_each_cpu() { return cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu).strict(true); }

/// A runtime with a queue. The first thing in a body.
template <class Policy>
class keyed_machine {
    using queue_type = cmwq::workqueue<Policy>;

public:
    explicit keyed_machine(keyed_setup s = {}) : setup_(s), rt(options(s)) {
        auto o = queue_options("q", s.attributes, s.max_active);
        o.rescuer = s.rescuer;
        o.freezable = s.freezable;
        made_.emplace(rt, std::move(o));
        if (s.others) keeper_.emplace(rt, queue_options("keeper", *s.others, s.max_active));
        if (s.warm) {
            warm(*made_);
            if (keeper_) warm(*keeper_);
        }
        quiet_.end();
        began_ = model::elapsed();
    }
    ~keyed_machine() {
        if (!setup_.end_searched) quiet_.begin();
    }
    keyed_machine(const keyed_machine&) = delete;
    keyed_machine& operator=(const keyed_machine&) = delete;

    [[nodiscard]] queue_type& q() { return *made_; }
    /// The destructor of the queue, as part of the search.
    void end_queue() { made_.reset(); }
    [[nodiscard]] std::int64_t waited() const { return model::elapsed() - began_; }

    static cmwq::options<Policy> queue_options(const char* name, const cmwq::attrs& a, unsigned max_active) {
        cmwq::options<Policy> o{.name = name};
        o.attrs = a;
        if constexpr (requires { o.max_active; }) o.max_active = max_active;
        return o;
    }

private:
    void warm(queue_type& q) {
        for (const unsigned cpu : rt.cpus()) {
            cmwq::work first{[] {}};
            q.queue_on(cpu, first);
            q.flush();
        }
        // Time passes when nobody has anything left to do: they sleep, and the monitor has gone quiet.
        model::sleep(1'000'000'000);
    }
    static cmwq::runtime_options options(const keyed_setup& s) {
        cmwq::runtime_options o;
        o.sentinel = s.sentinel;
        o.threads = s.threads;
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, model::nr_cpus())); // nothing of the real one
        return o;
    }

    keyed_setup setup_;
    model::unsearched quiet_;
    std::int64_t began_ = 0;

public:
    cmwq::runtime rt;

private:
    std::optional<queue_type> made_, keeper_;
};

} // namespace cmwq_test
