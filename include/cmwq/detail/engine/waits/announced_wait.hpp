// SPDX-License-Identifier: BSL-1.0
//
// announced_wait: a thread that runs an item is about to sleep until other items have run.
#pragma once

#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// While the object lives, the worker of the calling thread waits inside the library: the pool starts the next item at
/// once, and does not count the worker as one that will soon be back. Does nothing if the thread runs no item, or need
/// not wait.
class announced_wait {
public:
    explicit announced_wait(bool must_wait = true) noexcept {
        if (run_record* const run = own_run(); must_wait && run != nullptr) {
            self_ = run->of_thread;
            note_block(block_reason::waiting);
            if (self_->pool.concurrency != nullptr) self_->pool.concurrency->wait_begins(*self_);
        }
    }
    ~announced_wait() {
        if (self_ == nullptr) return;
        if (self_->pool.concurrency != nullptr) self_->pool.concurrency->wait_ends(*self_);
        note_unblock();
    }
    announced_wait(const announced_wait&) = delete;
    announced_wait& operator=(const announced_wait&) = delete;

private:
    worker* self_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
