// SPDX-License-Identifier: BSL-1.0
//
// cmwq trace: lets a process write a trace, and makes a page of one.
#pragma once

#include "client.hpp"
#include "failure.hpp"
#include "perfetto_trace.hpp"
#include "trace_data.hpp"

#include <cmwq_tool/page.hpp> // generated from page.html

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace cmwq_tool {

/// A page that needs nothing else.
inline std::string page_of(const perfetto_trace& t) {
    constexpr std::size_t most_runs = 500'000; // a page of some 100 MB, which browsers still show
    std::string page(page_template);
    constexpr std::string_view place = "TRACE_DATA";
    return page.replace(page.find(place), place.size(), trace_data(t, most_runs).text());
}

/// Makes a page of the file of a trace.
inline void write_page(const std::string& trace, const std::string& page) {
    std::string text;
    try {
        text = page_of(perfetto_trace::of_file(trace));
    } catch (const std::exception& e) {
        throw failure(status::refused, trace + ": " + e.what());
    }
    std::ofstream file(page, std::ios::binary);
    if (!(file << text).flush()) throw failure(status::refused, page + ": the file cannot be written");
    std::printf("%s: open it in a browser\n", page.c_str());
}

inline void begin_trace(client& to, double seconds, const std::string& file) {
    const auto ms = static_cast<std::int64_t>(seconds * 1000);
    to.ask({{"do", "trace"}, {"file", std::filesystem::absolute(file).string()}, {"time", std::to_string(ms) + "ms"}});
}
/// Returns when the file is complete.
inline void wait_for_trace(client& to, double seconds) {
    to.pause(seconds);
    json now;
    while ((now = to.ask({{"do", "trace"}})).at("tracing").get<bool>()) to.pause(0.05);
    if (now.contains("failed")) throw failure(status::refused, now.value("failed", ""));
}

/// `output`: empty: a name for it. `html`: a page is made.
inline void trace(client& to, double seconds, std::string output, bool html) {
    if (output.empty()) output = html ? "cmwq.html" : "cmwq.pftrace";
    const std::string file = html ? output + ".pftrace" : output;
    begin_trace(to, seconds, file);
    if (!html) {
        wait_for_trace(to, seconds);
        std::printf("%s: open it in https://ui.perfetto.dev\n", output.c_str());
        return;
    }
    const auto remove = [](const std::string* f) {
        std::error_code ignored;
        std::filesystem::remove(*f, ignored);
    };
    const std::unique_ptr<const std::string, decltype(remove)> removed(&file, remove); // also if the process has ended
    wait_for_trace(to, seconds);
    write_page(file, output);
}

} // namespace cmwq_tool
