// SPDX-License-Identifier: BSL-1.0
//
// Includes all bodies of the engine, in a fixed order.
#pragma once

#include <cmwq/detail/engine/api/attrs.ipp>

#include <cmwq/detail/engine/env/library_copy.ipp>

#include <cmwq/detail/engine/env/thread_budget.ipp>

#include <cmwq/detail/engine/env/cpu_map.ipp>

#include <cmwq/detail/engine/env/closure_memory.ipp>

#include <cmwq/detail/engine/env/event_reporter.ipp>

#include <cmwq/detail/engine/pool/node_slots.ipp>

#include <cmwq/detail/engine/pool/item_pool.ipp>

#include <cmwq/detail/engine/pool/item_pool_lists.ipp>

#include <cmwq/detail/engine/pool/item_pool_waits.ipp>

#include <cmwq/detail/engine/pool/item_pool_reports.ipp>

#include <cmwq/detail/engine/waits/wait_graph.ipp>

#include <cmwq/detail/engine/stuck/deadlock_check.ipp>

#include <cmwq/detail/engine/pool/worker_set.ipp>

#include <cmwq/detail/engine/pool/rescuable_pool.ipp>

#include <cmwq/detail/engine/pool/unmanaged_workers.ipp>

#include <cmwq/detail/engine/pool/managed_workers.ipp>

#include <cmwq/detail/engine/pool/managed_workers_monitor.ipp>

#include <cmwq/detail/engine/pool/managed_workers_waits.ipp>

#include <cmwq/detail/engine/pool/thread_pool.ipp>

#include <cmwq/detail/engine/pool/worker.ipp>

#include <cmwq/detail/engine/pool/bottom_halves.ipp>

#include <cmwq/detail/engine/pool/bottom_half_pool.ipp>

#include <cmwq/detail/engine/pool/bh_thread.ipp>

#include <cmwq/detail/engine/pool/sentinel.ipp>

#include <cmwq/detail/engine/pool/rescuer.ipp>

#include <cmwq/detail/engine/stuck/diagnosis_thread.ipp>

#include <cmwq/detail/engine/queue/timer_service.ipp>

#include <cmwq/detail/engine/queue/queue_core.ipp>
#include <cmwq/detail/engine/queue/queue_core_pwqs.ipp>

#include <cmwq/detail/engine/pool/pool_registry.ipp>

#include <cmwq/detail/engine/pool/pool_table.ipp>

#include <cmwq/detail/engine/runtime/placement.ipp>

#include <cmwq/detail/engine/runtime/freezer.ipp>

#include <cmwq/detail/engine/runtime/service_thread.ipp>

#include <cmwq/detail/engine/runtime/manager_thread.ipp>

#include <cmwq/detail/engine/runtime/runtime_core.ipp>

#include <cmwq/detail/engine/report/dump_json.ipp>
#include <cmwq/detail/engine/report/dump_text.ipp>
#include <cmwq/detail/engine/report/runtime_report.ipp>

#include <cmwq/detail/engine/api/runtime.ipp>

#include <cmwq/detail/engine/api/system_queues.ipp>

#include <cmwq/detail/engine/api/queue_ops.ipp>

#include <cmwq/detail/engine/api/item_ops.ipp>

#include <cmwq/detail/engine/api/group_counts.ipp>

#include <cmwq/detail/engine/api/group_ops.ipp>
