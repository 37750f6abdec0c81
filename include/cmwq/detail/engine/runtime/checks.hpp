// SPDX-License-Identifier: BSL-1.0
//
// Checks of the values that programs pass in, made where the values enter the library. Enumerations are checked as
// well: a value made by a cast would select a pool that does not exist.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/runtime_options.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Throws std::invalid_argument unless `value` is one of the enumerators, which are numbered from 0 to that of `last`.
template <class E>
void check_enumerator(E value, E last, const char* what) {
    const auto number = static_cast<unsigned>(value);
    if (number <= static_cast<unsigned>(last)) return;
    throw std::invalid_argument(std::string("cmwq: ") + what + " is " + std::to_string(number) +
                                ", which is none of its values; the last one is " +
                                std::to_string(static_cast<unsigned>(last)));
}

inline void check_scope(affinity_scope scope) {
    check_enumerator(scope, affinity_scope::default_, "the affinity_scope");
}

/// Throws std::invalid_argument if the attributes would be wrong on every machine.
inline void check_attrs(const attrs& a) {
    if (a.nice() < -20 || a.nice() > 19) {
        throw std::invalid_argument("cmwq: nice is " + std::to_string(a.nice()) + ", it must be -20 to 19");
    }
    check_enumerator(a.scheduling(), scheduling::fifo, "the scheduling class");
    check_scope(a.affinity());
}

inline void check_time(const char* option, std::chrono::nanoseconds time) {
    if (time.count() >= 0) return;
    throw std::invalid_argument(std::string("cmwq::runtime: ") + option + " is " + std::to_string(time.count()) +
                                " ns, it must not be negative");
}

/// Of runtime_options or runtime_thresholds. Throws std::invalid_argument.
template <class Options>
void check_thresholds(const Options& o) {
    check_time("may_block_threshold", o.may_block_threshold);
    check_time("cpu_hog_threshold", o.cpu_hog_threshold);
    check_time("overdue_after", o.overdue_after);
    check_time("watchdog", o.watchdog);
}

/// Throws std::invalid_argument if the options would be wrong on every machine.
inline void check_options(const runtime_options& o) {
    check_time("idle_timeout", o.idle_timeout);
    check_time("idle_poll", o.idle_poll);
    check_thresholds(o);
    check_time("abort_on_stall_after", o.abort_on_stall_after);
    check_time("metrics_interval", o.metrics_interval);
    check_time("schedtrace", o.schedtrace);
    check_scope(o.default_scope);
    if (o.cache_shard_size == 0) {
        throw std::invalid_argument("cmwq::runtime: cache_shard_size is 0, it must be at least 1");
    }
    if (o.metrics_interval.count() == 0) {
        throw std::invalid_argument("cmwq::runtime: metrics_interval is 0, it must be longer");
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
