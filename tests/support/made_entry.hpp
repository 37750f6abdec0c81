// SPDX-License-Identifier: BSL-1.0
//
// Entries of a trace, as a test wants them.
#pragma once

#include <cmwq/detail/trace/trace_entry.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cmwq_test {

/// The thread with that number: "thread N", with the id 100 + N.
inline std::shared_ptr<const cmwq::detail::traced_thread> traced_thread(unsigned number) {
    return std::make_shared<cmwq::detail::traced_thread>(
        cmwq::detail::traced_thread{number, 100 + static_cast<long>(number), "thread " + std::to_string(number)});
}

inline cmwq::detail::trace_entry entry_of(unsigned thread, cmwq::detail::trace_kind k, std::int64_t time,
                                          const void* item = nullptr, const char* queue = "q") {
    cmwq::detail::trace_entry e{traced_thread(thread), 0, {}, nullptr};
    e.record.kind = k;
    e.record.time = time;
    e.record.item = item;
    e.record.pool = 7;
    e.record.set_name(queue);
    return e;
}

} // namespace cmwq_test
