// SPDX-License-Identifier: BSL-1.0
//
// A translation unit that only queues. It must not see the engine.
#include "parts.hpp"

void queue_only(cmwq::workqueue<>& wq, cmwq::work_base& w) { wq.queue(w); }
