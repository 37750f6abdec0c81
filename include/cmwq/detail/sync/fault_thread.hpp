// SPDX-License-Identifier: BSL-1.0
//
// The thread of the fault backend: late at its work, or not to be had.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 1

#include <cmwq/detail/os/thread.hpp>
#include <cmwq/detail/sync/fault.hpp>

#include <cerrno>

namespace cmwq::inline CMWQ_NS::detail::fault {

class thread : public os::thread {
public:
    int start(thread_body body, void* arg) noexcept {
        if (refuses_thread()) return EAGAIN;
        body_ = body;
        arg_ = arg;
        const int error = os::thread::start(&late, this);
        step();
        return error;
    }

private:
    static void late(void* self) {
        const auto* const t = static_cast<thread*>(self);
        step();
        t->body_(t->arg_);
    }

    thread_body body_ = nullptr;
    void* arg_ = nullptr;
};

} // namespace cmwq::inline CMWQ_NS::detail::fault

#endif
