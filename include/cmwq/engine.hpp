// SPDX-License-Identifier: BSL-1.0
//
// The engine: the bodies of all functions that the other headers only declare. A program that defines CMWQ_COMPILED
// includes it in one file of its own, or links the CMake target cmwq::compiled, which has such a file. In all other
// programs <cmwq/runtime.hpp> includes it.
#pragma once

#include <cmwq/runtime.hpp>

#include <cmwq/detail/engine/api/attrs.ipp>
#include <cmwq/detail/engine/api/item_ops.ipp>
#include <cmwq/detail/engine/api/queue_ops.ipp>
#include <cmwq/detail/engine/api/runtime.ipp>
#include <cmwq/detail/engine/api/system_queues.ipp>
#include <cmwq/detail/engine/bh/bh_thread.ipp>
#include <cmwq/detail/engine/bh/bottom_half_pool.ipp>
#include <cmwq/detail/engine/bh/bottom_halves.ipp>
#include <cmwq/detail/engine/env/closure_memory.ipp>
#include <cmwq/detail/engine/env/cpu_map.ipp>
#include <cmwq/detail/engine/env/event_reporter.ipp>
#include <cmwq/detail/engine/env/library_copy.ipp>
#include <cmwq/detail/engine/env/thread_budget.ipp>
#include <cmwq/detail/engine/groups/group_counts.ipp>
#include <cmwq/detail/engine/groups/group_ops.ipp>
#include <cmwq/detail/engine/groups/group_tasks.ipp>
#include <cmwq/detail/engine/groups/group_wait.ipp>
#include <cmwq/detail/engine/ledger/item_events.ipp>
#include <cmwq/detail/engine/ledger/node_slots.ipp>
#include <cmwq/detail/engine/ledger/pool_ledger.ipp>
#include <cmwq/detail/engine/ledger/pool_ledger_ages.ipp>
#include <cmwq/detail/engine/ledger/pool_ledger_lists.ipp>
#include <cmwq/detail/engine/ledger/pool_ledger_reports.ipp>
#include <cmwq/detail/engine/ledger/pool_ledger_waits.ipp>
#include <cmwq/detail/engine/ops/item_wait.ipp>
#include <cmwq/detail/engine/ops/queueing.ipp>
#include <cmwq/detail/engine/pools/cpu_record.ipp>
#include <cmwq/detail/engine/pools/pool_registry.ipp>
#include <cmwq/detail/engine/pools/pool_table.ipp>
#include <cmwq/detail/engine/queue/pwq_list.ipp>
#include <cmwq/detail/engine/queue/queue_changes.ipp>
#include <cmwq/detail/engine/queue/queue_core.ipp>
#include <cmwq/detail/engine/queue/queue_limits.ipp>
#include <cmwq/detail/engine/queue/queue_routes.ipp>
#include <cmwq/detail/engine/report/dump_json.ipp>
#include <cmwq/detail/engine/report/dump_text.ipp>
#include <cmwq/detail/engine/report/metrics.ipp>
#include <cmwq/detail/engine/report/runtime_report.ipp>
#include <cmwq/detail/engine/runtime/freezer.ipp>
#include <cmwq/detail/engine/runtime/manager_thread.ipp>
#include <cmwq/detail/engine/runtime/periodic_reports.ipp>
#include <cmwq/detail/engine/runtime/placement.ipp>
#include <cmwq/detail/engine/runtime/runtime_core.ipp>
#include <cmwq/detail/engine/runtime/service_thread.ipp>
#include <cmwq/detail/engine/runtime/stall_report.ipp>
#include <cmwq/detail/engine/stuck/deadlock_check.ipp>
#include <cmwq/detail/engine/stuck/diagnosis_thread.ipp>
#include <cmwq/detail/engine/threads/inner_runs.ipp>
#include <cmwq/detail/engine/threads/item_pool.ipp>
#include <cmwq/detail/engine/threads/load.ipp>
#include <cmwq/detail/engine/threads/load_monitor.ipp>
#include <cmwq/detail/engine/threads/local_lists.ipp>
#include <cmwq/detail/engine/threads/rescue_calls.ipp>
#include <cmwq/detail/engine/threads/rescuer.ipp>
#include <cmwq/detail/engine/threads/sentinel.ipp>
#include <cmwq/detail/engine/threads/spare_workers.ipp>
#include <cmwq/detail/engine/threads/thread_pool.ipp>
#include <cmwq/detail/engine/threads/worker_places.ipp>
#include <cmwq/detail/engine/threads/worker_threads.ipp>
#include <cmwq/detail/engine/timers/timer_service.ipp>
#include <cmwq/detail/engine/waits/wait_graph.ipp>
#include <cmwq/detail/topo/topology.ipp>
