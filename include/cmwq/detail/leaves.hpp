// SPDX-License-Identifier: BSL-1.0
//
// The leaves for which this machine has the libraries. cmwq::compiled includes it, so that options reach them in
// programs that include none.
#pragma once

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#include <cmwq/trace.hpp>
#endif
#if __has_include(<nlohmann/json.hpp>)
#include <cmwq/control.hpp>
#endif
