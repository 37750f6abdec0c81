// SPDX-License-Identifier: BSL-1.0
//
// no_cancellation: puts off pthread_cancel() of the calling thread.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <pthread.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// While the object lives, the thread is not cancelled: pthread_cancel() takes effect later.
class no_cancellation {
public:
    no_cancellation() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~no_cancellation() { ::pthread_setcancelstate(before_, nullptr); }
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}}} // namespace cmwq::CMWQ_NS::detail::os
