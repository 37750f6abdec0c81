// SPDX-License-Identifier: BSL-1.0
//
// Prints how many locked operations, line transfers and lock waits an item costs on simulated machines of 1 to 256
// CPUs: docs/dev/scale.md.
#include "workloads.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace scale;

struct settings {
    std::vector<unsigned> policies, workloads, cpus;
    setting each; ///< the other options of every case
    const char* json = nullptr;
    bool csv = false;
};

struct result {
    unsigned policy, workload, cpus;
    measurement m;
};

/// A column of the tables: a text for people, a name for files, and the value per item.
struct metric {
    const char* title;
    const char* name;
    double (*value)(const measurement&);
};

constexpr metric metrics[] = {
    {"locked operations per item", "locked", [](const measurement& m) { return m.per_item(m.all().locked); }},
    {"line transfers per item", "transfers", [](const measurement& m) { return m.per_item(m.all().transfers); }},
    {"lock waits per item", "lock_waits", [](const measurement& m) { return m.per_item(m.all().lock_waits); }},
    {"locked operations of queue()", "queue_locked",
     [](const measurement& m) { return m.per_item(m.queueing.locked); }},
    {"lines of queue()", "queue_lines", [](const measurement& m) { return m.per_item(m.queueing.lines); }},
    {"line transfers of queue()", "queue_transfers",
     [](const measurement& m) { return m.per_item(m.queueing.transfers); }},
    {"locked operations of the run", "run_locked", [](const measurement& m) { return m.per_item(m.running.locked); }},
    {"lines of the run", "run_lines", [](const measurement& m) { return m.per_item(m.running.lines); }},
    {"line transfers of the run", "run_transfers",
     [](const measurement& m) { return m.per_item(m.running.transfers); }},
    {"wake-ups per item", "wakes", [](const measurement& m) { return m.per_item(m.all().wakes); }},
    {"allocations per item", "allocations", [](const measurement& m) { return m.per_item(m.all().allocations); }},
};

[[noreturn]] void explain(int code) {
    std::fputs(
        "usage: simulated_scale [--policy NAME]... [--workload NAME]... [--cpus N]... [--items N] [--time NS]\n"
        "                       [--runs N] [--scope NAME] [--shard-size N] [--no-sentinels] [--sites N] [--csv]\n"
        "                       [--json FILE]\n"
        "Policies: bound elastic unbound ordered bh. Workloads: independent bursts shared outside inside tree.\n"
        "--items: how many for each CPU. --time: how long an item runs, in virtual nanoseconds.\n"
        "--runs: how many runs of each case, with slightly different times of wake-ups.\n"
        "--scope: the affinity scope of the queues; all CPUs share one cache. --shard-size: CPUs of a cache_shard.\n"
        "--sites N lists, for each case, the N places in the code with the most line transfers, and the N with\n"
        "the most locked operations.\n",
        code == 0 ? stdout : stderr);
    std::exit(code);
}

template <std::size_t N>
unsigned index_of(const std::array<std::string_view, N>& names, const char* name) {
    const auto at = std::find(names.begin(), names.end(), std::string_view(name));
    if (at == names.end()) explain(2);
    return static_cast<unsigned>(at - names.begin());
}

cmwq::affinity_scope scope_named(std::string_view name) {
    const auto at = std::ranges::find(cmwq::affinity_scopes, name, [](cmwq::affinity_scope s) { return to_string(s); });
    if (at == std::ranges::end(cmwq::affinity_scopes)) explain(2);
    return *at;
}

settings read_arguments(int argc, char** argv) {
    static const option known[] = {
        {"policy", required_argument, nullptr, 'p'}, {"workload", required_argument, nullptr, 'w'},
        {"cpus", required_argument, nullptr, 'c'},   {"sites", required_argument, nullptr, 's'},
        {"items", required_argument, nullptr, 'i'},  {"time", required_argument, nullptr, 't'},
        {"no-sentinels", no_argument, nullptr, 'n'}, {"runs", required_argument, nullptr, 'r'},
        {"scope", required_argument, nullptr, 'a'},  {"shard-size", required_argument, nullptr, 'z'},
        {"csv", no_argument, nullptr, 'v'},          {"json", required_argument, nullptr, 'j'},
        {"help", no_argument, nullptr, 'h'},         {}};
    settings s;
    for (int o; (o = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (o) {
        case 'p': s.policies.push_back(index_of(policies, optarg)); break;
        case 'w': s.workloads.push_back(index_of(workloads, optarg)); break;
        case 'c': {
            const unsigned long n = std::strtoul(optarg, nullptr, 10);
            if (n < 1 || n > 256) explain(2);
            s.cpus.push_back(static_cast<unsigned>(n));
            break;
        }
        case 's': s.each.nr_sites = std::strtoul(optarg, nullptr, 10); break;
        case 'i': s.each.items_of_cpu = std::max(1u, static_cast<unsigned>(std::strtoul(optarg, nullptr, 10))); break;
        case 't': s.each.time_of_item = std::strtol(optarg, nullptr, 10); break;
        case 'n': s.each.sentinels = false; break;
        case 'r': s.each.runs = std::max(1u, static_cast<unsigned>(std::strtoul(optarg, nullptr, 10))); break;
        case 'a': s.each.scope = scope_named(optarg); break;
        case 'z': s.each.shard_size = std::max(1u, static_cast<unsigned>(std::strtoul(optarg, nullptr, 10))); break;
        case 'v': s.csv = true; break;
        case 'j': s.json = optarg; break;
        default: explain(o == 'h' ? 0 : 2);
        }
    }
    if (optind != argc) explain(2);
    if (s.policies.empty()) s.policies = {0, 1, 2, 3, 4};
    if (s.workloads.empty()) s.workloads = {0, 1, 2, 3, 4, 5};
    if (s.cpus.empty()) s.cpus = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    return s;
}

void print_table(const settings& s, const std::vector<result>& all, const metric& k) {
    std::printf("\n%-28s", k.title);
    for (const unsigned n : s.cpus) std::printf("%9u", n);
    std::puts("");
    for (const unsigned p : s.policies) {
        for (const unsigned w : s.workloads) {
            std::printf("%-28s", (std::string(policies[p]) + ", " + std::string(workloads[w])).c_str());
            for (const unsigned n : s.cpus) {
                for (const result& r : all)
                    if (r.policy == p && r.workload == w && r.cpus == n) std::printf("%9.2f", k.value(r.m));
            }
            std::puts("");
        }
    }
}

void print_csv(const std::vector<result>& all) {
    std::printf("policy,workload,cpus,items");
    for (const metric& k : metrics) std::printf(",%s", k.name);
    std::puts("");
    for (const result& r : all) {
        std::printf("%s,%s,%u,%llu", policies[r.policy].data(), workloads[r.workload].data(), r.cpus,
                    static_cast<unsigned long long>(r.m.items));
        for (const metric& k : metrics) std::printf(",%.4f", k.value(r.m));
        std::puts("");
    }
}

bool write_json(const char* path, const std::vector<result>& all) {
    std::FILE* const f = std::fopen(path, "w");
    if (f == nullptr) return false;
    std::fputs("[\n", f);
    for (const result& r : all) {
        std::fprintf(f, R"({"policy": "%s", "workload": "%s", "cpus": %u, "items": %llu, "elapsed_ns": %lld)",
                     policies[r.policy].data(), workloads[r.workload].data(), r.cpus,
                     static_cast<unsigned long long>(r.m.items), static_cast<long long>(r.m.elapsed));
        for (const metric& k : metrics) std::fprintf(f, R"(, "%s": %.4f)", k.name, k.value(r.m));
        std::fputs(&r == &all.back() ? "}\n" : "},\n", f);
    }
    std::fputs("]\n", f);
    return std::fclose(f) == 0;
}

} // namespace

int main(int argc, char** argv) {
    const settings s = read_arguments(argc, argv);
    std::vector<result> all;
    bool good = true;
    for (const unsigned p : s.policies) {
        for (const unsigned w : s.workloads) {
            for (const unsigned n : s.cpus) {
                std::string sites;
                setting one = s.each;
                one.p = static_cast<policy>(p);
                one.w = static_cast<workload>(w);
                one.cpus = n;
                const measurement m = measure(one, &sites);
                if (m.failure[0] != '\0') {
                    std::fprintf(stderr, "%s, %s, %u CPUs: %s\n", policies[p].data(), workloads[w].data(), n,
                                 m.failure);
                    good = false;
                }
                if (s.each.nr_sites != 0) {
                    std::printf("%s, %s, %u CPUs; per item:\n transfers   locked    waits    lines  phase  place\n%s\n",
                                policies[p].data(), workloads[w].data(), n, sites.c_str());
                }
                all.push_back({p, w, n, m});
            }
        }
    }
    if (s.csv) {
        print_csv(all);
    } else {
        for (const metric& k : metrics) print_table(s, all, k);
    }
    if (s.json != nullptr && !write_json(s.json, all)) {
        std::fprintf(stderr, "cannot write %s\n", s.json);
        good = false;
    }
    return good ? 0 : 1;
}
