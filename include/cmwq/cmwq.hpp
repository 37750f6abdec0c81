// SPDX-License-Identifier: BSL-1.0
//
// Includes all public headers but those of testing/. A file that only queues work needs just <cmwq/workqueue.hpp>.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/async.hpp>
#include <cmwq/bh.hpp>
#include <cmwq/blocking_region.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/delayed_work.hpp>
#include <cmwq/observer.hpp>
#include <cmwq/options.hpp>
#include <cmwq/policy.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/stats.hpp>
#include <cmwq/system.hpp>
#include <cmwq/task_group.hpp>
#include <cmwq/this_work.hpp>
#include <cmwq/topology.hpp>
#include <cmwq/version.hpp>
#include <cmwq/work.hpp>
#include <cmwq/workqueue.hpp>
