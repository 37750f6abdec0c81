// SPDX-License-Identifier: BSL-1.0
//
// What the searches over the engine have in common: a runtime on a small machine, made and warmed up outside of the
// search, so that the executions go to the protocol that a test is about.
#pragma once

#include <cmwq/cmwq.hpp>
#include <model/explore.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace cmwq_test {

namespace model = cmwq::detail::model;

/// The options of a search of that name on a machine with one CPU.
inline model::options search(std::string name, double seconds, unsigned preemptions = 2) {
    model::options o;
    o.name = std::move(name);
    o.around.cpus = 1;
    o.seconds = seconds;
    o.preemptions = preemptions;
    o.random_executions = 1'000'000; // as many as there is time for
    return o;
}

/// The options of a search on a machine with so many CPUs.
inline model::options search_on(unsigned cpus, std::string name, double seconds, unsigned preemptions = 2) {
    model::options o = search(std::move(name), seconds, preemptions);
    o.around.cpus = cpus;
    return o;
}

/// A search in which time also passes while threads could run.
inline model::options with_time(std::string name, double seconds) {
    model::options o = search(std::move(name), seconds);
    o.time_jumps = 2;
    return o;
}

struct setup {
    bool sentinel = false;
    bool warm = true;           ///< two workers are there when the search begins, and everybody sleeps
    bool end_searched = false;  ///< the destructors of queue and runtime are part of the search
    unsigned max_active = 1024; ///< of the queue
    bool cpu_intensive = false; ///< of the queue
    std::int64_t may_block_threshold = 1'000'000;
    bool rescuer = false;   ///< of the queue
    bool freezable = false; ///< of the queue
    unsigned max_threads = 0;
    cmwq::thread_source* threads = nullptr;
    std::int64_t idle_timeout = 300'000'000'000;
};

/// A runtime with a queue. The first thing in a body.
class machine {
public:
    explicit machine(setup s = {})
        : setup_(s), rt(options(s)), q(rt, {.name = "q",
                                            .max_active = s.max_active,
                                            .cpu_intensive = s.cpu_intensive,
                                            .rescuer = s.rescuer,
                                            .freezable = s.freezable}) {
        if (s.warm) {
            for (const unsigned cpu : rt.cpus()) {
                cmwq::work first{[] {}};
                q.queue_on(cpu, first);
                q.flush();
            }
            // In a search time passes when nobody has anything left to do: they sleep, and the monitor has gone quiet.
            model::sleep(1'000'000'000);
        }
        quiet_.end();
        began_ = model::elapsed();
    }
    ~machine() {
        if (!setup_.end_searched) quiet_.begin();
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    /// Virtual time since the search began. It passes only when nobody can do anything, so if it has not passed,
    /// nobody had to wait for a detector to find what somebody else had missed.
    [[nodiscard]] std::int64_t waited() const { return model::elapsed() - began_; }

private:
    static cmwq::runtime_options options(const setup& s) {
        cmwq::runtime_options o;
        o.may_block_threshold = std::chrono::nanoseconds{s.may_block_threshold};
        o.idle_timeout = std::chrono::nanoseconds{s.idle_timeout};
        o.sentinel = s.sentinel;
        o.max_threads = s.max_threads;
        o.threads = s.threads;
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, model::nr_cpus())); // nothing of the real one
        return o;
    }

    setup setup_;
    model::unsearched quiet_;
    std::int64_t began_ = 0;

public:
    cmwq::runtime rt;
    cmwq::workqueue<> q;
};

} // namespace cmwq_test
