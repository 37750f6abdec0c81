// SPDX-License-Identifier: BSL-1.0
//
// trace_history: the last events, from which a trace can be made at any time.
#pragma once

#include <cmwq/detail/trace/perfetto_writer.hpp>
#include <cmwq/detail/trace/trace_entry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Of older events it keeps what is not over: the items that run and their blocks, and how many items are pending. So a
/// trace shows since when an item has run.
///
/// One thread at a time. Members throw std::bad_alloc.
class trace_history {
public:
    void add(trace_entry&& e) { kept_.push_back(std::move(e)); }
    /// Keeps at most so many events, and none from before that time.
    void forget_before(std::int64_t time, std::size_t most) {
        while (!kept_.empty() && (kept_.size() > most || kept_.front().record.time < time)) {
            leave_behind(std::move(kept_.front()));
            kept_.pop_front();
        }
    }
    /// A trace of what is kept.
    [[nodiscard]] std::string trace() const {
        perfetto_writer w;
        w.begin();
        std::vector<const trace_entry*> open;
        for (const auto& [thread, entries] : open_) {
            for (const trace_entry& e : entries) open.push_back(&e);
        }
        std::ranges::sort(open, {}, [](const trace_entry* e) { return std::pair(e->record.time, e->order); });
        for (const trace_entry* e : open) w.add(*e);
        if (!kept_.empty()) {
            for (const auto& [queue, n] : pending_) w.set_pending(kept_.front().record.time, queue, n);
        }
        for (const trace_entry& e : kept_) w.add(e);
        return w.take();
    }

private:
    void leave_behind(trace_entry&& e) {
        const trace_record& r = e.record;
        if (r.nr_lost != 0) open_.erase(e.thread->number);
        switch (r.kind) {
        case trace_kind::queued: count(r, +1); break;
        case trace_kind::cancelled: count(r, -1); break;
        case trace_kind::started:
            count(r, -1);
            begin(std::move(e));
            break;
        case trace_kind::blocked:
            if (has_end(r.why)) begin(std::move(e));
            break;
        case trace_kind::unblocked:
        case trace_kind::ended: end(e.thread->number); break;
        default: break;
        }
    }
    void begin(trace_entry&& e) {
        auto& entries = open_[e.thread->number];
        e.record.nr_lost = 0; // was written off
        entries.push_back(std::move(e));
    }
    void end(unsigned thread) {
        const auto found = open_.find(thread);
        if (found == open_.end()) return;
        found->second.pop_back();
        if (found->second.empty()) open_.erase(found);
    }
    void count(const trace_record& r, int by) {
        auto found = pending_.find(r.name());
        if (found == pending_.end()) found = pending_.emplace(r.name(), 0).first;
        found->second = std::max<std::int64_t>(found->second + by, 0);
        if (found->second == 0) pending_.erase(found);
    }

    std::deque<trace_entry> kept_;
    std::unordered_map<unsigned, std::vector<trace_entry>> open_; // by thread: slices that have begun before these
    by_text<std::int64_t> pending_;                               // by queue: items that were pending before these
};

}}} // namespace cmwq::CMWQ_NS::detail
