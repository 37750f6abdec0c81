// SPDX-License-Identifier: BSL-1.0
//
// Plays each of the kernel's timelines on real threads until its events come in the documented order, as
// timeline_threads.test.cpp does. Prints a line of JSON for each, with the times in milliseconds, and leaves the trace
// of that run in the folder: NUMBER.announced.pftrace, NUMBER.unannounced.pftrace.
//
//   program FOLDER
#include "real_world.hpp"
#include "timeline.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/trace.hpp>

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace {

std::optional<std::vector<timeline::entry>> attempt(const timeline::scenario& s, bool announced,
                                                    const std::string& path) {
    cmwq::runtime rt;
    if (!timeline::make_workers(rt)) return std::nullopt;
    std::vector<timeline::entry> seen;
    {
        const cmwq::tracer trace{rt, path};
        timeline::real_world world;
        seen = timeline::play(rt, s, announced, world);
    }
    std::string why;
    if (!timeline::in_documented_order(s, seen, why)) return std::nullopt;
    return seen;
}

bool play(std::size_t number, bool announced, const std::string& folder) {
    constexpr int most_attempts = 40;
    const timeline::scenario& s = timeline::scenarios()[number];
    const std::string file = std::to_string(number) + (announced ? ".announced.pftrace" : ".unannounced.pftrace");
    for (int n = 1; n <= most_attempts; ++n) {
        const auto seen = attempt(s, announced, folder + '/' + file);
        if (!seen.has_value()) continue;
        nlohmann::ordered_json line{{"scenario", number}, {"name", s.name}, {"announced", announced},
                                    {"attempts", n},      {"trace", file},  {"documented", s.documented},
                                    {"what", {}},         {"at", {}}};
        for (const timeline::entry& e : *seen) {
            line["what"].push_back(e.what);
            line["at"].push_back(e.at);
        }
        std::printf("%s\n", line.dump().c_str());
        return true;
    }
    std::fprintf(stderr, "%s: not in the documented order in %d attempts\n", s.name, most_attempts);
    return false;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    bool good = true;
    for (std::size_t i = 0; i < timeline::scenarios().size(); ++i) {
        for (const bool announced : {true, false}) good = play(i, announced, argv[1]) && good;
    }
    return good ? 0 : 1;
}
