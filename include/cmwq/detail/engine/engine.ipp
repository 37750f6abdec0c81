// SPDX-License-Identifier: BSL-1.0
//
// All bodies of the engine, in one order.
#pragma once

#include <cmwq/detail/engine/api/attrs.ipp>

#include <cmwq/detail/engine/runtime/library_copy.ipp>

#include <cmwq/detail/engine/pool/node_slots.ipp>

#include <cmwq/detail/engine/pool/worker_pool.ipp>

#include <cmwq/detail/engine/pool/pool_lists.ipp>

#include <cmwq/detail/engine/report/wait_graph.ipp>

#include <cmwq/detail/engine/report/wait_look.ipp>

#include <cmwq/detail/engine/pool/worker.ipp>

#include <cmwq/detail/engine/pool/manager.ipp>

#include <cmwq/detail/engine/pool/bottom_half.ipp>

#include <cmwq/detail/engine/pool/sentinel.ipp>

#include <cmwq/detail/engine/pool/rescuer.ipp>

#include <cmwq/detail/engine/report/watchdog.ipp>

#include <cmwq/detail/engine/report/diagnosis_thread.ipp>

#include <cmwq/detail/engine/item/timer_service.ipp>

#include <cmwq/detail/engine/queue/queue_core.ipp>

#include <cmwq/detail/engine/pool/pool_registry.ipp>

#include <cmwq/detail/engine/runtime/runtime_core.ipp>

#include <cmwq/detail/engine/report/events.ipp>

#include <cmwq/detail/engine/runtime/staff.ipp>

#include <cmwq/detail/engine/runtime/cpus.ipp>

#include <cmwq/detail/engine/report/dump.ipp>

#include <cmwq/detail/engine/api/runtime.ipp>

#include <cmwq/detail/engine/api/system_queues.ipp>

#include <cmwq/detail/engine/api/engine_ops.ipp>

#include <cmwq/detail/engine/runtime/freezer.ipp>
