// SPDX-License-Identifier: BSL-1.0
//
// push_batch: the notifications that a thread owes after it has pushed several items under a lock.
#pragma once

#include <cmwq/detail/engine/queue/pushed.hpp>

#include <optional>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Keeps each pool to which it has pushed, and notifies it once: the worker that wakes up takes all items, and wakes
/// the next one if more should run. Belongs to one thread. Declared before the lock under which the items are pushed:
/// its destructor notifies.
class push_batch {
public:
    static constexpr int size = 32; ///< the largest number of items

    push_batch() noexcept = default;
    push_batch(const push_batch&) = delete;
    push_batch& operator=(const push_batch&) = delete;
    ~push_batch() {
        for (int i = 0; i < nr_pools_; ++i) pools_[i]->notify();
    }

    [[nodiscard]] bool full() const noexcept { return nr_items_ == size; }
    [[nodiscard]] bool empty() const noexcept { return nr_items_ == 0; }
    [[nodiscard]] int nr_items() const noexcept { return nr_items_; }
    void add(pushed&& p) noexcept {
        ++nr_items_;
        if (p.pool == nullptr) return;
        for (int i = 0; i < nr_pools_; ++i) {
            if (pools_[i]->pool == p.pool) return; // which that entry keeps
        }
        pools_[nr_pools_++].emplace(std::move(p));
    }

private:
    int nr_items_ = 0, nr_pools_ = 0;
    std::optional<pushed> pools_[size];
};

}}} // namespace cmwq::CMWQ_NS::detail
