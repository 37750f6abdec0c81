// SPDX-License-Identifier: BSL-1.0
//
// thread: started with a name, a CPU and a scheduling class; thread_probe: what another thread does right now.
#pragma once

#include <cmwq/detail/sync/thread_types.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#elif CMWQ_SYNC == 1

#include <cmwq/detail/sync/fault_thread.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class thread : public fault::thread {};

} // namespace cmwq::inline CMWQ_NS::detail

#else

#include <cmwq/detail/os/thread.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class thread : public os::thread {};

} // namespace cmwq::inline CMWQ_NS::detail

#endif
