// SPDX-License-Identifier: BSL-1.0
//
// All bodies of the engine, in one order.
#pragma once

#include <cmwq/detail/engine/attrs.ipp>

#include <cmwq/detail/engine/library_copy.ipp>

#include <cmwq/detail/engine/node_slots.ipp>

#include <cmwq/detail/engine/worker_pool.ipp>

#include <cmwq/detail/engine/pool_lists.ipp>

#include <cmwq/detail/engine/wait_graph.ipp>

#include <cmwq/detail/engine/wait_look.ipp>

#include <cmwq/detail/engine/worker.ipp>

#include <cmwq/detail/engine/manager.ipp>

#include <cmwq/detail/engine/bottom_half.ipp>

#include <cmwq/detail/engine/sentinel.ipp>

#include <cmwq/detail/engine/rescuer.ipp>

#include <cmwq/detail/engine/watchdog.ipp>

#include <cmwq/detail/engine/diagnosis_thread.ipp>

#include <cmwq/detail/engine/timer_service.ipp>

#include <cmwq/detail/engine/queue_core.ipp>

#include <cmwq/detail/engine/pool_registry.ipp>

#include <cmwq/detail/engine/runtime_core.ipp>

#include <cmwq/detail/engine/events.ipp>

#include <cmwq/detail/engine/staff.ipp>

#include <cmwq/detail/engine/cpus.ipp>

#include <cmwq/detail/engine/dump.ipp>

#include <cmwq/detail/engine/runtime.ipp>

#include <cmwq/detail/engine/system_queues.ipp>

#include <cmwq/detail/engine/engine_ops.ipp>

#include <cmwq/detail/engine/freezer.ipp>
