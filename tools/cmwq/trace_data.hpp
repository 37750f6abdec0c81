// SPDX-License-Identifier: BSL-1.0
//
// trace_data: the runs of a trace as JSON, which page.html draws.
#pragma once

#include "perfetto_trace.hpp"
#include "trace_runs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cmwq_tool {

/// Has no "<", because it stands in a page of HTML. Of more than `most_runs` runs it has the last ones.
class trace_data {
public:
    trace_data(const perfetto_trace& t, std::size_t most_runs)
        : runs_(t), first_(first_of(runs_.runs.size(), most_runs)) {
        const auto process = std::ranges::find_if(
            t.tracks, [](const auto& track) { return track.second.pid != 0 && track.second.tid == 0; });
        add("program", process == t.tracks.end() ? "" : process->second.name);
        add("pid", process == t.tracks.end() ? 0 : process->second.pid);
        add("end", runs_.end);
        add("is_cut", t.is_cut);
        add("left_out", first_);
        add_list("threads", runs_.threads, [](const auto& thread) { return json{thread.name, thread.tid}; });
        add_list("marks", runs_.marks,
                 [](const auto& m) { return json{m.thread, m.time, m.text, m.is_report ? 1 : 0}; });
        add_list("counters", runs_.counters, [](const auto& c) {
            std::vector<std::int64_t> flat;
            for (const auto& [time, value] : c.values) {
                flat.push_back(time);
                flat.push_back(static_cast<std::int64_t>(value));
            }
            return json{c.name, flat};
        });
        add_runs();
        add_list("texts", texts_, [](std::string_view s) { return json(s); }); // those that the runs name
        text_.back() = '}';
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    using json = nlohmann::ordered_json; // as the rest of the tool, because the library is compiled for each

    static std::size_t first_of(std::size_t n, std::size_t most) { return n > most ? n - most : 0; }

    void add_value(const json& value) {
        for (const char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
            if (c == '<') text_ += "\\u003c"; // otherwise a name could end the script
            else text_ += c;
        }
        text_ += ',';
    }
    void add(const char* name, const json& value) {
        text_ += '"';
        text_ += name;
        text_ += "\":";
        add_value(value);
    }
    template <class List, class F>
    void add_list(const char* name, const List& list, const F& value_of) {
        begin_list(name);
        for (const auto& one : list) add_value(value_of(one));
        end_list();
    }
    void begin_list(const char* name) {
        text_ += '"';
        text_ += name;
        text_ += "\":[";
    }
    void end_list() {
        if (text_.back() == ',') text_.pop_back();
        text_ += "],";
    }
    void add_runs() {
        begin_list("runs");
        for (std::size_t i = first_; i < runs_.runs.size(); ++i) {
            const trace_runs::run& r = runs_.runs[i];
            const bool has_taken_over = r.takes_over.has_value() && *r.takes_over >= first_;
            add_value({r.thread, r.depth, text(r.function), text(r.queue), r.item, r.pool, r.begin, r.end.value_or(-1),
                       r.cpu_time.value_or(-1), r.queued.value_or(-1), r.queued_by,
                       has_taken_over ? static_cast<std::int64_t>(*r.takes_over - first_) : -1});
        }
        end_list();
        begin_list("segments");
        for (const trace_runs::segment& s : runs_.segments) {
            if (s.of >= first_) add_value({s.of - first_, static_cast<int>(s.what), s.begin, s.end, s.cpu});
        }
        end_list();
    }
    std::size_t text(std::string_view s) {
        const auto [found, is_new] = text_ids_.emplace(s, texts_.size());
        if (is_new) texts_.push_back(s);
        return found->second;
    }

    const trace_runs runs_;
    const std::size_t first_; // run that the page has
    std::string text_ = "{";
    std::map<std::string_view, std::size_t> text_ids_;
    std::vector<std::string_view> texts_;
};

} // namespace cmwq_tool
