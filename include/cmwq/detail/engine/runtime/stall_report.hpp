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

/// Says that the pool has started nothing for `time` nanoseconds, and why; empty if no item waits for a worker. `cpu`
/// gets one of its CPUs. Any thread.
[[nodiscard]] std::string describe_stalled(const pool_env& env, item_pool& pool, std::int64_t time, unsigned& cpu);

/// For runtime::stall_report(). `at_least`: nanoseconds.
[[nodiscard]] std::string stall_report_of(const pool_env& env, const queue_list& queues, std::int64_t at_least);

}}} // namespace cmwq::CMWQ_NS::detail
