// SPDX-License-Identifier: BSL-1.0
//
// A hint to the processor inside a short spin loop.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Tells the processor that the calling thread waits for another one.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

}}} // namespace cmwq::CMWQ_NS::detail
