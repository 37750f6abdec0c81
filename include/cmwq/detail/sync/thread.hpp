// SPDX-License-Identifier: BSL-1.0
//
// thread: a thread of the system. thread_probe: the present state of another thread.
#pragma once

#include <cmwq/detail/os/thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class thread : public os::thread {};

using os::name_of_this_thread;
using os::thread_exists;

}}} // namespace cmwq::CMWQ_NS::detail
