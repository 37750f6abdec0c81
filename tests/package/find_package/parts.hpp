// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/workqueue.hpp>

#include <functional>

void run_with_engine(std::function<void()> f);              // with_engine.cpp, includes <cmwq/cmwq.hpp>
void queue_only(cmwq::workqueue<>& wq, cmwq::work_base& w); // queues_only.cpp, includes <cmwq/workqueue.hpp>
