// SPDX-License-Identifier: BSL-1.0
//
// The thread of the fault backend.
#pragma once

#include <cmwq/detail/os/thread.hpp>
#include <fault/fault.hpp>

#include <cerrno>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread that may begin late, or cannot be created.
class thread : public os::thread {
public:
    int start(thread_body body, void* arg, thread_body before = nullptr, void* context = nullptr) noexcept {
        if (fault::refuses_thread()) return EAGAIN;
        body_ = body;
        arg_ = arg;
        const int error = os::thread::start(&late, this, before, context);
        fault::step();
        return error;
    }

private:
    static void late(void* self) {
        const auto* const t = static_cast<thread*>(self);
        fault::step();
        t->body_(t->arg_);
    }

    thread_body body_ = nullptr;
    void* arg_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
