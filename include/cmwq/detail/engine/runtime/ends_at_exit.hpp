// SPDX-License-Identifier: BSL-1.0
//
// ends_at_exit: ends a part of the process-wide runtime when the program calls exit(), because that runtime is never
// destroyed.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/observers.hpp>

#include <cstdlib>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// `T::end_at_exit()` ends the part; it does nothing in a forked child that has inherited it.
template <class T>
class ends_at_exit {
public:
    /// Of several parts, the last one ends. Any thread.
    static void arm(T& part) noexcept {
        last_.store(&part, release); // [EXIT-1]
        std::atexit([] {
            T* const p = last_.exchange(nullptr, acquire);             // [EXIT-1]
            if (p != nullptr && !observers::tells()) p->end_at_exit(); // an observer that exits would wait for itself
        });
    }

private:
    static constinit inline atomic<T*> last_{nullptr};
};

}}} // namespace cmwq::CMWQ_NS::detail
