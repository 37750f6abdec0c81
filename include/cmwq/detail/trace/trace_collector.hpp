// SPDX-License-Identifier: BSL-1.0
//
// trace_collector: reads the rings of a recorder, and sorts what was in them.
#pragma once

#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/detail/trace/trace_entry.hpp>
#include <cmwq/detail/trace/trace_recorder.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One thread at a time.
class trace_collector {
public:
    explicit trace_collector(trace_recorder& r) noexcept : recorder_(r) {}
    trace_collector(const trace_collector&) = delete;
    trace_collector& operator=(const trace_collector&) = delete;

    /// Reads all rings. A ring whose thread has ended becomes free. Throws std::bad_alloc; records are lost then.
    void read() {
        recorder_.for_each_ring([this](trace_ring& r) { read(r); });
    }
    /// Calls `f(trace_entry&)` for each entry from before that time, in the order of their times, and forgets it. An
    /// entry that comes later than that finds later ones before it.
    template <class F>
    void take_before(std::int64_t time, const F& f) {
        std::ranges::sort(entries_, {}, [](const trace_entry& e) { return std::pair(e.record.time, e.order); });
        const auto end =
            std::ranges::lower_bound(entries_, time, {}, [](const trace_entry& e) { return e.record.time; });
        for (auto e = entries_.begin(); e != end; ++e) f(*e);
        entries_.erase(entries_.begin(), end);
    }
    /// Reads all rings, and forgets everything.
    void skip() noexcept {
        recorder_.for_each_ring([](trace_ring& ring) { ring.read([](const trace_record& r) { take_message(r); }); });
        entries_.clear();
    }

private:
    static std::unique_ptr<std::string> take_message(const trace_record& r) noexcept {
        return std::unique_ptr<std::string>(r.kind == trace_kind::reported ? r.message : nullptr);
    }
    void read(trace_ring& ring) {
        const bool has_ended = ring.tid() != 0 && !thread_exists(ring.tid()); // before its last records are read
        ring.read([&](const trace_record& r) {
            std::unique_ptr<std::string> message = take_message(r);
            if (ring.thread == nullptr) {
                ring.thread = std::make_shared<traced_thread>(
                    traced_thread{nr_threads_ + 1, ring.tid(), std::string(ring.name())});
                ++nr_threads_;
            }
            entries_.push_back({ring.thread, nr_read_++, r, std::move(message)});
        });
        if (!has_ended) return;
        ring.thread = nullptr;
        ring.release_owner();
    }

    trace_recorder& recorder_;
    std::vector<trace_entry> entries_;
    unsigned nr_threads_ = 0; // that were seen
    std::uint64_t nr_read_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
