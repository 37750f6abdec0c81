// SPDX-License-Identifier: BSL-1.0
//
// trace_runs: the runs of items in a trace, and what their threads did meanwhile.
#pragma once

#include "perfetto_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cmwq_tool {

/// Times are nanoseconds since the first event of the trace.
class trace_runs {
public:
    enum class state : unsigned char {
        running,
        blocked,      ///< in a blocking_region
        waiting,      ///< for other items, in the library
        found_blocked ///< by a detector: it has gone on at some time, which nobody knows
    };
    struct run {
        std::size_t thread;
        std::size_t depth; ///< so many runs of its thread wait for it
        std::string_view function, queue;
        std::string item, pool;
        std::int64_t begin;
        std::optional<std::int64_t> end = {}; ///< none: it still runs
        std::optional<std::int64_t> cpu_time = {};
        std::optional<std::int64_t> queued = {};    ///< when
        std::size_t queued_by = 0;                  ///< thread
        std::optional<std::size_t> takes_over = {}; ///< a run that is blocked, in whose place a spare worker runs it
    };
    struct segment {
        std::size_t of; ///< index of the run
        state what;
        std::int64_t begin, end;
        unsigned cpu; ///< on which it has begun
    };
    struct thread {
        std::string name;
        std::uint64_t tid;
    };
    struct counter {
        std::string name;
        std::vector<std::pair<std::int64_t, std::uint64_t>> values = {}; ///< from that time on
    };
    struct mark {
        std::size_t thread;
        std::int64_t time;
        std::string text;
        bool is_report;
    };

    std::vector<run> runs = {};         ///< in the order of their begins
    std::vector<segment> segments = {}; ///< of each run in order
    std::vector<thread> threads = {};
    std::vector<counter> counters = {};
    std::vector<mark> marks = {};
    std::int64_t end = 0; ///< of the trace

    /// `t` must outlive it.
    explicit trace_runs(const perfetto_trace& t) {
        if (t.events.empty()) return;
        begin_ = t.events.front().time;
        end = since_begin(t.events.back());
        for (const perfetto_trace::event& e : t.events) {
            if (e.what == perfetto_trace::counter) add_value(t, e);
            else add(e, thread_of(t, e.on));
        }
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (!runs[i].end.has_value()) change(i, end, state::running, 0);
        }
        std::ranges::sort(segments, {}, [](const segment& s) { return std::tuple(s.begin, s.of, s.end); });
    }

private:
    struct slice {
        std::size_t of;
        state what; ///< of the run while no slice is above this one
    };
    struct thread_state {
        std::vector<slice> slices = {};
        bool was_woken = false; // and has not begun an item yet
    };
    struct queueing {
        std::int64_t time;
        std::size_t by;
    };

    [[nodiscard]] std::int64_t since_begin(const perfetto_trace::event& e) const noexcept {
        return static_cast<std::int64_t>(e.time - begin_);
    }
    std::size_t thread_of(const perfetto_trace& t, std::uint64_t track) {
        const auto [found, is_new] = thread_by_track_.emplace(track, threads.size());
        if (is_new) {
            const auto its = t.tracks.find(track);
            threads.push_back(its == t.tracks.end() ? thread{"?", 0} : thread{its->second.name, its->second.tid});
            states_.emplace_back();
        }
        return found->second;
    }
    void add_value(const perfetto_trace& t, const perfetto_trace::event& e) {
        const auto [found, is_new] = counter_by_track_.emplace(e.on, counters.size());
        if (is_new) {
            const auto its = t.tracks.find(e.on);
            counters.push_back({its == t.tracks.end() ? "?" : its->second.name});
        }
        counters[found->second].values.emplace_back(since_begin(e), e.value);
    }

    void add(const perfetto_trace::event& e, std::size_t on) {
        switch (e.what) {
        case perfetto_trace::slice_begin: begin_slice(e, on); break;
        case perfetto_trace::slice_end: end_slice(e, on); break;
        case perfetto_trace::instant: add_instant(e, on); break;
        default: break;
        }
    }
    void begin_slice(const perfetto_trace::event& e, std::size_t on) {
        std::vector<slice>& slices = states_[on].slices;
        const std::string item = e.annotation("item");
        if (!slices.empty() && runs[slices.back().of].item == item) { // no item runs inside itself
            slices.push_back({slices.back().of, e.name == "waits for items" ? state::waiting : state::blocked});
            return change(slices.back().of, since_begin(e), slices.back().what, cpu_of(e));
        }
        run r{.thread = on,
              .depth = depth_of(slices),
              .function = e.name,
              .queue = e.category,
              .item = item,
              .pool = e.annotation("pool"),
              .begin = since_begin(e)};
        if (const auto q = queueings_.find(e.last_of_flow); q != queueings_.end()) {
            r.queued = q->second.time;
            r.queued_by = q->second.by;
            queueings_.erase(q);
        }
        std::vector<std::size_t>& blocked = blocked_[r.pool];
        if (std::exchange(states_[on].was_woken, false) && !blocked.empty()) {
            r.takes_over = blocked.back();
            blocked.pop_back();
        }
        slices.push_back({runs.size(), state::running});
        open_.push_back({runs.size(), state::running, r.begin, 0, cpu_of(e)});
        runs.push_back(std::move(r));
    }
    void end_slice(const perfetto_trace::event& e, std::size_t on) {
        std::vector<slice>& slices = states_[on].slices;
        if (slices.empty()) return;
        const slice ended = slices.back();
        slices.pop_back();
        const bool goes_on = !slices.empty() && slices.back().of == ended.of;
        change(ended.of, since_begin(e), goes_on ? slices.back().what : state::running, cpu_of(e));
        if (goes_on) return;
        runs[ended.of].end = since_begin(e);
        if (const std::string cpu_time = e.annotation("cpu_time_ns"); !cpu_time.empty())
            runs[ended.of].cpu_time = std::stoll(cpu_time);
    }
    void add_instant(const perfetto_trace::event& e, std::size_t on) {
        if (e.flow != 0) {
            queueings_[e.flow] = {since_begin(e), on};
        } else if (e.name == "worker woken") {
            states_[on].was_woken = true;
        } else if (!e.category.empty() && e.name.starts_with("blocked, as the ")) {
            const std::string item = e.annotation("item");
            const auto& slices = states_[on].slices;
            const auto its =
                std::find_if(slices.rbegin(), slices.rend(), [&](const slice& s) { return runs[s.of].item == item; });
            if (its != slices.rend() && open_[its->of].what == state::running)
                change(its->of, since_begin(e), state::found_blocked, open_[its->of].cpu);
        } else if (e.name != "cancelled") {
            const std::string message = e.annotation("message");
            marks.push_back(
                {on, since_begin(e), message.empty() ? std::string(e.name) : message, /*is_report=*/!message.empty()});
        }
    }

    // From that time on the run is in another state.
    void change(std::size_t of, std::int64_t time, state to, unsigned cpu) {
        segment& open = open_[of];
        open.end = time;
        if (open.end > open.begin) segments.push_back(open);
        open = {of, to, time, time, cpu};
        std::vector<std::size_t>& blocked = blocked_[runs[of].pool];
        const auto its = std::ranges::find(blocked, of);
        if (to == state::running && its != blocked.end()) blocked.erase(its);
        if (to != state::running && its == blocked.end()) blocked.push_back(of);
    }
    static std::size_t depth_of(const std::vector<slice>& slices) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < slices.size(); ++i) n += i == 0 || slices[i].of != slices[i - 1].of ? 1 : 0;
        return n;
    }
    // Traces of older versions do not say it.
    static unsigned cpu_of(const perfetto_trace::event& e) {
        const std::string cpu = e.annotation("cpu");
        return cpu.empty() ? 0 : static_cast<unsigned>(std::stoul(cpu));
    }

    std::uint64_t begin_ = 0;
    std::map<std::uint64_t, std::size_t> thread_by_track_ = {}, counter_by_track_ = {};
    std::vector<thread_state> states_ = {};
    std::vector<segment> open_ = {};                               // of each run, the last one, which may have ended
    std::map<std::uint64_t, queueing> queueings_ = {};             // by flow
    std::map<std::string, std::vector<std::size_t>> blocked_ = {}; // by pool: no spare has come yet; the last one last
};

} // namespace cmwq_tool
