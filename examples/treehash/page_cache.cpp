// SPDX-License-Identifier: BSL-1.0
#include "page_cache.hpp"

#include "walker.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treehash {

dropped drop_from_page_cache(const std::vector<std::string>& paths) {
    dropped total;
    // Dirty pages cannot be dropped, so write them first: one syncfs() per path. An fsync() per file would flush the
    // disk's own cache each time.
    for (const std::string& path : paths) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) continue;
        ::syncfs(fd);
        ::close(fd);
    }
    walk(paths, {.file =
                     [&](const std::string& path) {
                         const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
                         if (fd < 0) return;
                         struct stat st{};
                         if (::fstat(fd, &st) == 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0) {
                             ++total.files;
                             total.bytes += static_cast<std::uint64_t>(st.st_size);
                         }
                         ::close(fd);
                     },
                 .failed = [](const failure&) {}});
    return total;
}

} // namespace treehash
