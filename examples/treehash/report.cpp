// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

namespace treehash {

namespace {

unsigned long long wide(std::uint64_t n) noexcept { return n; }

} // namespace

std::string manifest_line(const sha256_digest& digest, const std::string& path) {
    static constexpr char hex[] = "0123456789abcdef";
    std::string line;
    line.reserve(2 * digest.size() + path.size() + 4);
    if (path.find_first_of("\\\n\r") != std::string::npos) line += '\\';
    for (const unsigned char byte : digest) {
        line += hex[byte >> 4];
        line += hex[byte & 15];
    }
    line += "  ";
    for (const char c : path) {
        switch (c) {
        case '\\': line += "\\\\"; break;
        case '\n': line += "\\n"; break;
        case '\r': line += "\\r"; break;
        default: line += c;
        }
    }
    line += '\n';
    return line;
}

bool write_manifest(std::FILE* to, const std::vector<const file_record*>& files) {
    for (const file_record* f : files) {
        const std::string line = manifest_line(f->digest, f->path);
        if (std::fwrite(line.data(), 1, line.size(), to) != line.size()) return false;
    }
    return std::fflush(to) == 0;
}

bool write_json(std::FILE* to, const figures& f) {
    std::fprintf(to,
                 "{\n"
                 "  \"pool\": \"%s\",\n"
                 "  \"cold\": %s,\n"
                 "  \"files\": %llu,\n"
                 "  \"bytes\": %llu,\n"
                 "  \"failures\": %llu,\n"
                 "  \"wall_seconds\": %.6f,\n"
                 "  \"cpu_seconds\": %.6f,\n"
                 "  \"cpus\": %u,\n"
                 "  \"megabytes_per_second\": %.3f,\n"
                 "  \"cpu_utilisation\": %.4f,\n"
                 "  \"voluntary_switches\": %lld,\n"
                 "  \"peak_threads\": %u,\n"
                 "  \"blocks_by_guard\": %llu,\n"
                 "  \"blocks_by_sentinel\": %llu,\n"
                 "  \"blocks_by_monitor\": %llu\n"
                 "}\n",
                 to_string(f.pool), f.cold ? "true" : "false", wide(f.files), wide(f.bytes), wide(f.failures),
                 f.wall_seconds, f.cpu_seconds, f.cpus, f.megabytes_per_second(), f.cpu_utilisation(),
                 static_cast<long long>(f.voluntary_switches), f.of_pool.peak_threads, wide(f.of_pool.blocks_by_guard),
                 wide(f.of_pool.blocks_by_sentinel), wide(f.of_pool.blocks_by_monitor));
    return std::fflush(to) == 0 && std::ferror(to) == 0;
}

void print_figures(std::FILE* to, const figures& f) {
    std::fprintf(to,
                 "pool             %s, %s cache\n"
                 "files            %llu, %llu failed\n"
                 "bytes            %llu\n"
                 "time             %.3f s, %.1f MB/s\n"
                 "CPU utilisation  %.1f %% of %u CPUs\n"
                 "peak threads     %u\n"
                 "blocks noticed   guard %llu, sentinel %llu, monitor %llu\n",
                 to_string(f.pool), f.cold ? "cold" : "warm", wide(f.files), wide(f.failures), wide(f.bytes),
                 f.wall_seconds, f.megabytes_per_second(), 100 * f.cpu_utilisation(), f.cpus, f.of_pool.peak_threads,
                 wide(f.of_pool.blocks_by_guard), wide(f.of_pool.blocks_by_sentinel),
                 wide(f.of_pool.blocks_by_monitor));
}

} // namespace treehash
