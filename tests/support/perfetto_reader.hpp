// SPDX-License-Identifier: BSL-1.0
//
// Reads traces, with the reader of the tool cmwq.
#pragma once

#include "../../tools/cmwq/perfetto_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq_test {

class perfetto_trace : public cmwq_tool::perfetto_trace {
public:
    using cmwq_tool::perfetto_trace::perfetto_trace;
    explicit perfetto_trace(cmwq_tool::perfetto_trace t) : cmwq_tool::perfetto_trace(std::move(t)) {}
    static perfetto_trace of_file(const std::string& path) {
        return perfetto_trace(cmwq_tool::perfetto_trace::of_file(path));
    }

    /// The slices and instants of a track: "[NAME" begins a slice, "]" ends one, and an instant has only a name.
    [[nodiscard]] std::string story(std::uint64_t on) const {
        std::string s;
        for (const event& e : events) {
            if (e.on != on || e.what == counter) continue;
            s += s.empty() ? "" : ", ";
            if (e.what != instant) s += e.what == slice_begin ? "[" : "]";
            s += e.name;
        }
        return s;
    }
    /// The values of a counter, with blanks in between.
    [[nodiscard]] std::string values(std::string_view name) const {
        std::string s;
        for (const event& e : events) {
            if (e.what == counter && tracks.at(e.on).name == name)
                s += (s.empty() ? "" : " ") + std::to_string(e.value);
        }
        return s;
    }
    [[nodiscard]] std::vector<event> named(std::string_view name) const {
        std::vector<event> found;
        std::ranges::copy_if(events, std::back_inserter(found), [name](const event& e) { return e.name == name; });
        return found;
    }
};

} // namespace cmwq_test
