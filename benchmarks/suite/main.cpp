// SPDX-License-Identifier: BSL-1.0
#include "workload.hpp"

#include "support/json.hpp"

#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#if CMWQ_BENCH_TBB
#include <tbb/version.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace suite {

void run::report(const std::string& name_of_case, std::initializer_list<std::pair<const char*, double>> metrics) const {
    bench::json_line line;
    line.add("workload", workload_).add("contender", contender_).add("case", name_of_case);
    for (const auto& [name, value] : metrics) line.add(name, value);
    line.print();
}

void run::verify(bool right, const std::string& sentence) const {
    if (right) return;
    std::fprintf(stderr, "suite: wrong result: %s, %s: %s\n", workload_.c_str(), contender_.c_str(), sentence.c_str());
    std::_Exit(1); // a destructor could wait for ever for the items that have not run
}

namespace {

/// Prints the contenders of each workload, and the versions of their libraries, as JSON.
void list(const std::vector<workload>& workloads) {
    std::printf(R"({"versions": {"Boost": "%s")", BOOST_LIB_VERSION);
#if CMWQ_BENCH_TBB
    std::printf(R"(, "oneTBB": "%d.%d")", TBB_VERSION_MAJOR, TBB_VERSION_MINOR);
#endif
    std::printf("}, \"workloads\": {");
    const char* comma = "";
    for (const workload& w : workloads) {
        std::printf("%s\n  \"%s\": [", std::exchange(comma, ","), w.name.c_str());
        const char* inner = "";
        for (const contender& c : w.contenders) std::printf("%s\"%s\"", std::exchange(inner, ", "), c.name.c_str());
        std::printf("]");
    }
    std::printf("}}\n");
}

/// Returns whether there was such a contender.
bool measure(const workload& w, const std::vector<std::string>& only, size s) {
    bool found = false;
    for (const contender& c : w.contenders) {
        if (!only.empty() && std::ranges::find(only, c.name) == only.end()) continue;
        found = true;
        c.measure(run{w.name, c.name, s});
    }
    return found;
}

} // namespace
} // namespace suite

int main(int argc, char** argv) {
    using namespace suite;
    const std::vector<workload> all{empty(),         fanout(),  fib(),      nqueens(),     parallel_for(), latency(),
                                    queue_latency(), ordered(), pipeline(), timer_storm(), flush(),        cancel()};
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const workload& w : all) names.push_back(w.name);

    std::vector<std::string> workloads = names;
    std::vector<std::string> contenders;
    size s = size::full;
    bool only_list = false;
    CLI::App app{"Workloads that compare cmwq with other libraries. Prints a line of JSON for each case. Ends with 1 "
                 "if a result is wrong.",
                 "suite"};
    app.add_option("workload", workloads, "workloads; all of them by default")->check(CLI::IsMember(names));
    app.add_option("--contender", contenders, "only this contender (may be repeated)");
    app.add_option("--size", s, "smoke, quick or full; larger sizes take longer and vary less")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, size>{{"smoke", size::smoke}, {"quick", size::quick}, {"full", size::full}}));
    app.add_flag("--list", only_list, "print the contenders of each workload, and run nothing");
    CLI11_PARSE(app, argc, argv);

    if (only_list) {
        list(all);
        return 0;
    }
    bool found = false;
    for (const workload& w : all) {
        if (std::ranges::find(workloads, w.name) != workloads.end()) found = measure(w, contenders, s) || found;
    }
    if (!found) {
        std::fprintf(stderr, "suite: there is no such contender; --list prints all of them\n");
        return 2;
    }
    return 0;
}
