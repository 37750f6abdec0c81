// SPDX-License-Identifier: BSL-1.0
//
// The second translation unit that includes the whole library.
#include <cmwq/cmwq.hpp>

#include "parts.hpp"

void run_with_engine(std::function<void()> f) {
    cmwq::workqueue<> wq{"second"};
    cmwq::work item{[&f] { f(); }};
    wq.queue(item);
    wq.flush();
}
