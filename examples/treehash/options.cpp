// SPDX-License-Identifier: BSL-1.0
#include "options.hpp"

#include <CLI/CLI.hpp>

#include <map>

namespace treehash {

namespace {

constexpr int bad_usage = 2;

const std::map<std::string, pool_choice> pool_names{
    {"cmwq", pool_choice::cmwq}, {"asio", pool_choice::asio}, {"serial", pool_choice::serial}};

} // namespace

const char* to_string(pool_choice pool) noexcept {
    switch (pool) {
    case pool_choice::cmwq: return "cmwq";
    case pool_choice::asio: return "asio";
    case pool_choice::serial: return "serial";
    }
    return "?";
}

std::optional<int> parse_options(int argc, char** argv, options& o) {
    CLI::App app{"Hashes directory trees with SHA-256 and writes a manifest that `sha256sum -c` can check.\n"
                 "Symbolic links inside the trees are not followed; a PATH itself may be one.\n"
                 "Exit status: 0 done, 1 something could not be read or written, 2 bad usage.",
                 "treehash"};
    std::string pool = "cmwq";
    app.add_option("PATH", o.paths, "directories and files to hash")->required();
    app.add_option("--pool", pool, "pool that runs the work: cmwq, asio or serial")
        ->capture_default_str()
        ->check(CLI::IsMember(pool_names));
    auto* threads = app.add_option("--threads", o.threads, "threads of the asio pool (default: number of CPUs)")
                        ->check(CLI::Range(1u, 4096u));
    auto* max_active = app.add_option("--max-active", o.max_active, "limit of active items per CPU of the cmwq queue")
                           ->check(CLI::Range(1u, 2048u));
    app.add_flag("--cold", o.cold, "drop the files from the page cache first");
    auto* watched = app.add_flag("--watched", o.watched,
                                 "answer the tool cmwq, as in `cmwq monitor PID`, and end only on SIGINT or SIGTERM");
    app.add_option("--out", o.out, "write the manifest to this file (default: standard output)");
    app.add_option("--json", o.json, "write the figures to this file, as JSON");

    try {
        app.parse(argc, argv);
        o.pool = pool_names.at(pool);
        if (threads->count() != 0 && o.pool != pool_choice::asio) {
            throw CLI::ValidationError("--threads", "is for --pool asio");
        }
        if (max_active->count() != 0 && o.pool != pool_choice::cmwq) {
            throw CLI::ValidationError("--max-active", "is for --pool cmwq");
        }
        if (watched->count() != 0 && o.pool != pool_choice::cmwq) {
            throw CLI::ValidationError("--watched", "is for --pool cmwq");
        }
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : bad_usage;
    }
    return std::nullopt;
}

} // namespace treehash
