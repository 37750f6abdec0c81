// SPDX-License-Identifier: BSL-1.0
//
// mixed: counts the lines, words and bytes of all files below a directory, with a queue of each policy:
//
//   walk     bound    one item finds the files
//   read     elastic  an item for each file reads it, and blocks in read(2)
//   examine  unbound  an item for each file computes, at a lower priority
//   count    bh       an item for each file adds up, in the thread that queues it
//   journal  ordered  an item for each file writes a line
//
// The journal has a line for each file: number, errno, hash, lines, words, bytes, name. At the end a table shows the
// threads and CPUs on which the items of each queue ran.
#include "file.hpp"

#include <cmwq/cmwq.hpp>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace mixed { namespace {

void find_files(const char* directory, desk& d, std::deque<file>& files) {
    namespace fs = std::filesystem;
    constexpr auto options = fs::directory_options::skip_permission_denied;
    for (const fs::directory_entry& e : fs::recursive_directory_iterator{directory, options}) {
        if (e.is_regular_file() && !e.is_symlink()) files.emplace_back(d, e.path().string()).start();
    }
}

void print_head() {
    std::printf("%-8s %-8s %7s %7s %7s  %-7s %s\n", "queue", "policy", "items", "at once", "threads", "CPUs", "which");
}

void print(std::string_view queue, std::string_view policy, const whereabouts& seen) {
    constexpr std::size_t shown = 4;
    const std::vector<std::string> threads = seen.threads();
    std::string which;
    for (std::size_t i = 0; i < threads.size() && i < shown; ++i) which += (i == 0 ? "" : " ") + threads[i];
    if (threads.size() > shown) which += " …";
    std::printf("%-8.*s %-8.*s %7lu %7u %7zu  %-7s %s\n", static_cast<int>(queue.size()), queue.data(),
                static_cast<int>(policy.size()), policy.data(), seen.runs(), seen.most_at_once(), threads.size(),
                seen.cpus().to_string().c_str(), which.c_str());
}

template <class Policy>
void print(const station<Policy>& s) {
    print(s.queue.name(), Policy::name, s.seen);
}

int run(const char* directory, const char* journal_path) {
    // Later objects need earlier ones. They are destroyed in the opposite order.
    cmwq::runtime rt;
    desk d{rt, static_cast<unsigned>(rt.cpus().size())};
    std::deque<file> files; // used only by the walker, until the walker has ended
    std::string failed;
    station<cmwq::bound> walk{rt, "walk"};
    cmwq::work walker{[&] {
        const whereabouts::run here{walk.seen};
        try {
            find_files(directory, d, files);
        } catch (const std::filesystem::filesystem_error& e) {
            failed = e.what();
        }
    }};

    d.journal_file = std::fopen(journal_path, "we");
    if (d.journal_file == nullptr) {
        std::fprintf(stderr, "mixed: %s: %s\n", journal_path, std::strerror(errno));
        return 1;
    }
    walk.queue.queue(walker);

    // Each call waits for the items that the items of the previous call have queued.
    walker.flush();
    d.read.queue.drain();
    d.examine.queue.drain();
    d.count.queue.drain();
    d.journal.queue.drain();
    const bool written = std::fclose(d.journal_file) == 0;

    print_head();
    print(walk);
    print(d.read);
    print(d.examine);
    print(d.count);
    print(d.journal);
    std::printf("%zu files, %" PRIu64 " lines, %" PRIu64 " bytes, %" PRIu64 " failures\n", files.size(), d.lines.load(),
                d.bytes.load(), d.failures.load());

    if (!failed.empty()) std::fprintf(stderr, "mixed: %s\n", failed.c_str());
    if (!written) std::fprintf(stderr, "mixed: %s: cannot be written\n", journal_path);
    return failed.empty() && written && d.failures == 0 ? 0 : 1;
}

}} // namespace mixed

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: mixed DIRECTORY JOURNAL\n");
        return 2;
    }
    try {
        return mixed::run(argv[1], argv[2]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "mixed: %s\n", e.what());
        return 1;
    }
}
