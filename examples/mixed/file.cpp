// SPDX-License-Identifier: BSL-1.0
#include "file.hpp"

#include <cerrno>
#include <cinttypes>

#include <fcntl.h>
#include <unistd.h>

namespace mixed {

namespace {

/// 0 or errno.
int read_all(const char* path, std::string& content) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return errno;
    char buffer[65536];
    int error = 0;
    for (;;) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n > 0) {
            content.append(buffer, static_cast<std::size_t>(n));
        } else if (n == 0) {
            break;
        } else if (errno != EINTR) {
            error = errno;
            break;
        }
    }
    ::close(fd);
    return error;
}

constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

} // namespace

desk::desk(cmwq::runtime& rt, unsigned nr_cpus)
    : read(rt, cmwq::options<cmwq::elastic>{.name = "read", .max_active = readers}),
      examine(rt, cmwq::options<cmwq::unbound>{.name = "examine",
                                               .max_active = nr_cpus,
                                               .attrs = cmwq::attrs{}.nice(5).affinity(cmwq::affinity_scope::cache)}),
      journal(rt, "journal"), count(rt, "count") {}

void file::read() {
    const whereabouts::run here{desk_.read.seen};
    desk_.memory.acquire(); // not announced to the library, which notices it if it blocks
    error_ = read_all(path_.c_str(), content_);
    desk_.examine.queue.queue(examine_work_);
}

void file::examine() {
    const whereabouts::run here{desk_.examine.seen};
    bool in_word = false;
    hash_ = 0xcbf29ce484222325; // FNV-1a
    for (const char c : content_) {
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        lines_ += c == '\n';
        words_ += !in_word && !is_blank(c);
        in_word = !is_blank(c);
    }
    bytes_ = content_.size();
    content_ = {};
    desk_.memory.release();
    desk_.count.queue.queue(count_work_); // as a rule, the item has run when this returns
    desk_.journal.queue.queue(journal_work_);
}

void file::count() {
    const whereabouts::run here{desk_.count.seen};
    desk_.bytes += bytes_;
    desk_.lines += lines_;
    desk_.failures += error_ != 0;
}

void file::write_journal() {
    const whereabouts::run here{desk_.journal.seen};
    std::fprintf(desk_.journal_file, "%lu %d %016" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
                 ++desk_.lines_in_journal, error_, hash_, lines_, words_, bytes_, path_.c_str());
}

} // namespace mixed
