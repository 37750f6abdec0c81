// SPDX-License-Identifier: BSL-1.0
//
// Reads whole files, such as those in /proc and /sys, whose size is not known before they have been read.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Returns 0, or the errno with which opening or reading failed. `text` gets the part that was read.
inline int read_file(const char* path, std::string& text) {
    text.clear();
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    struct closer {
        int fd;
        ~closer() { ::close(fd); }
    } const guard{fd};
    for (;;) {
        char block[4096];
        const ssize_t n = ::read(fd, block, sizeof block);
        if (n == 0) return 0;
        if (n > 0) text.append(block, static_cast<std::size_t>(n));
        else if (errno != EINTR) return errno;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail::os
