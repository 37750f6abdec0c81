// SPDX-License-Identifier: BSL-1.0
//
// trace_record: one event of an item, a worker or a rescuer, with everything that it needs after its queue is gone.
#pragma once

#include <cmwq/detail/base/utf8.hpp>
#include <cmwq/observer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

enum class trace_kind : unsigned char {
    queued,
    cancelled,
    started,
    ended,
    blocked,
    unblocked,
    worker_created,
    worker_woken,
    worker_ended,
    mayday,
    reported,
};

/// Whether the end of such a block is known. Otherwise a detector has found it.
constexpr bool has_end(block_reason why) noexcept {
    return why == block_reason::announced || why == block_reason::waiting;
}

/// Small, because a thread has thousands: 80 bytes, of which a long name of a queue gets the first 39.
struct trace_record {
    std::int64_t time = 0; ///< steady clock
    union {
        const void* item = nullptr;
        std::string* message; ///< of a report; the thread that takes the record deletes it
    };
    union {
        void (*function)(work_base&) = nullptr; ///< of the item
        std::int64_t cpu_time;                  ///< of an item that has ended: of the run, in nanoseconds
    };
    unsigned pool = 0;     ///< its number in dumps
    unsigned worker = 0;   ///< of the event of a worker: its number in the pool
    unsigned nr_lost = 0;  ///< events of this thread that were lost between the last record and this one
    std::uint16_t cpu = 0; ///< on which the thread was
    trace_kind kind = trace_kind::queued;
    block_reason why = block_reason::announced; ///< of a block
    unsigned char name_size = 0;
    char name_bytes[39] = {}; ///< the queue, or the beginning of a report

    void set_name(std::string_view s) noexcept {
        const std::string_view kept = cut_to(s, sizeof name_bytes);
        name_size = static_cast<unsigned char>(kept.size());
        std::memcpy(name_bytes, kept.data(), kept.size());
    }
    [[nodiscard]] std::string_view name() const noexcept { return {name_bytes, name_size}; }
};
static_assert(sizeof(trace_record) == 80);

}}} // namespace cmwq::CMWQ_NS::detail
