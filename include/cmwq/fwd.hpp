// SPDX-License-Identifier: BSL-1.0
//
// Forward declarations of the public names, for headers that only mention them. A concept cannot be declared: include
// <cmwq/policy.hpp> for `execution_policy`.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS {

// Policies and options.
struct bound;
struct unbound;
struct elastic;
struct ordered;
struct bh;
enum class pool_kind : unsigned char;
enum class priority : unsigned char;
class attrs;
enum class scheduling : unsigned char;
class exception_handler;

// Machines.
class cpuset;
class topology;
enum class affinity_scope : unsigned char;

// Items.
class work_base;
class delayed_work_base;
template <class F>
class work;
template <class F>
class delayed_work;
template <auto Member>
class work_member;

// Queues.
class workqueue_base;
template <class Policy = bound>
class workqueue;
class system_workqueue;
enum class queue_status : unsigned char;
class duration_histogram;
struct queue_counters;
struct pool_growth;
struct queue_stats;
struct cancel_pending_t;

// Runtimes.
class runtime;
class task_group;
struct runtime_options;
struct runtime_thresholds;
struct runtime_stats;
enum class dump_format : unsigned char;
class freeze_guard;
struct event;
class observer;
class tracer;
struct trace_options;
class flight_recorder;
struct flight_recorder_options;
class control_socket;
struct control_options;
struct queue_event;
struct item_event;
struct worker_event;
enum class block_reason : unsigned char;
class clock_listener;
class clock_source;
class thread_request;
class thread_source;

// Inside of items.
class blocking_region;
class bh_disable_guard;
enum class block_kind : unsigned char;

}} // namespace cmwq::CMWQ_NS
