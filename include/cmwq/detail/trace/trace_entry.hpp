// SPDX-License-Identifier: BSL-1.0
//
// trace_entry: a record that has left its ring, with its thread.
#pragma once

#include <cmwq/detail/trace/trace_record.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread in which something has happened. It may have ended.
struct traced_thread {
    unsigned number; ///< from 1, in the order in which they were seen
    long tid;
    std::string name;
};

struct trace_entry {
    std::shared_ptr<const traced_thread> thread;
    std::uint64_t order; ///< of entries of the same time
    trace_record record;
    std::unique_ptr<std::string> message; ///< of a report
};

}}} // namespace cmwq::CMWQ_NS::detail
