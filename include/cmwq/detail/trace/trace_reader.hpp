// SPDX-License-Identifier: BSL-1.0
//
// trace_reader: reads the rings of a recorder, and makes the bytes of a trace of them.
#pragma once

#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/detail/trace/perfetto_writer.hpp>
#include <cmwq/detail/trace/trace_recorder.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One thread at a time. Members throw std::bad_alloc.
class trace_reader {
public:
    explicit trace_reader(trace_recorder& r) noexcept : recorder_(r) {}
    trace_reader(const trace_reader&) = delete;
    trace_reader& operator=(const trace_reader&) = delete;

    /// Before all else. `monotonic`, `realtime`: both clocks at one moment, in nanoseconds.
    void begin(long pid, std::string_view program, std::int64_t monotonic, std::int64_t realtime) {
        writer_.begin(pid, program, monotonic, realtime);
    }

    /// Reads all rings. Returns the next bytes of the trace, with the records from before that time. Records are sorted
    /// by their times; those that come too late for that have no flow. A ring whose thread has ended becomes free.
    [[nodiscard]] std::string read_before(std::int64_t time) {
        recorder_.for_each_ring([this](trace_ring& r) { read(r); });
        std::ranges::sort(entries_, {}, [](const entry& e) { return std::pair(e.record.time, e.order); });
        const auto end = std::ranges::lower_bound(entries_, time, {}, [](const entry& e) { return e.record.time; });
        for (auto e = entries_.begin(); e != end; ++e) writer_.add(e->thread, e->record);
        entries_.erase(entries_.begin(), end);
        return writer_.take();
    }

    /// Reads all rings, and forgets what was in them.
    void skip() noexcept {
        recorder_.for_each_ring([](trace_ring& ring) { ring.read([](const trace_record& r) { take_message(r); }); });
        entries_.clear();
    }

private:
    struct entry {
        unsigned thread;
        std::uint64_t order; // of equal times
        trace_record record;
        std::unique_ptr<std::string> message; // of a report
    };
    static std::unique_ptr<std::string> take_message(const trace_record& r) noexcept {
        return std::unique_ptr<std::string>(r.kind == trace_kind::reported ? r.message : nullptr);
    }

    void read(trace_ring& ring) {
        const bool has_ended = ring.tid() != 0 && !thread_exists(ring.tid()); // before its last records are read
        ring.read([&](const trace_record& r) {
            std::unique_ptr<std::string> message = take_message(r);
            if (ring.number == 0) {
                ring.number = ++nr_threads_;
                writer_.add_thread(ring.number, ring.tid(), ring.name());
            }
            entries_.push_back({ring.number, nr_read_++, r, std::move(message)});
        });
        if (!has_ended) return;
        ring.number = 0;
        ring.release_owner();
    }

    trace_recorder& recorder_;
    perfetto_writer writer_;
    std::vector<entry> entries_; // read, and not yet written
    unsigned nr_threads_ = 0;    // that were seen
    std::uint64_t nr_read_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
