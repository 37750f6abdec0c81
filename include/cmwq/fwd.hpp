// SPDX-License-Identifier: BSL-1.0
//
// Forward declarations of public names, for headers that only mention them.
#pragma once

#include <cmwq/detail/base/config.hpp>

/// Concurrency-managed workqueues in user space.
namespace cmwq::inline CMWQ_NS {

struct bound;
struct unbound;
struct elastic;
struct ordered;
struct bh;
class attrs;
class cpuset;
class topology;
enum class affinity_scope : unsigned char;
enum class scheduling : unsigned char;
class work_base;
class delayed_work_base;
template <class F>
class work;
template <class F>
class delayed_work;
class workqueue_base;
template <class Policy = bound>
class workqueue;
class system_workqueue;
class runtime;
struct runtime_options;
struct runtime_stats;
struct queue_stats;
class blocking_region;
class bh_disable_guard;
enum class queue_status : unsigned char;
enum class priority : unsigned char;
enum class block_kind : unsigned char;

} // namespace cmwq::inline CMWQ_NS
