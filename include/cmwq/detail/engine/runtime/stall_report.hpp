// SPDX-License-Identifier: BSL-1.0
//
// What hangs in a runtime, as sentences. The functions throw std::bad_alloc.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct pool_env;
class item_pool;
class queue_list;

/// What is wrong with a pool, see item_pool::has_stalled() and is_overtaken().
enum class stall_kind : unsigned char { nothing_starts, first_is_overtaken };

/// Says that it has lasted for `time` nanoseconds, and what the pool does; empty if no item waits for a worker. `cpu`
/// gets one of its CPUs. Any thread.
[[nodiscard]] std::string describe_stalled(const pool_env& env, item_pool& pool, stall_kind kind, std::int64_t time,
                                           unsigned& cpu);

/// For runtime::stall_report(). `at_least`: nanoseconds.
[[nodiscard]] std::string stall_report_of(const pool_env& env, const queue_list& queues, std::int64_t at_least);

}}} // namespace cmwq::CMWQ_NS::detail
