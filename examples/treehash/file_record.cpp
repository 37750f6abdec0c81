// SPDX-License-Identifier: BSL-1.0
#include "file_record.hpp"

#include <cerrno>
#include <memory>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treehash {

namespace {

class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

// The hash and the buffer of a thread, kept from one file to the next.
struct workspace {
    static constexpr std::size_t size = std::size_t{64} * 1024;

    sha256 hash;
    std::unique_ptr<std::byte[]> buffer = std::make_unique<std::byte[]>(size);
};

struct outcome {
    int error = 0;
    std::uint64_t bytes = 0;
    sha256_digest digest{};
};

outcome read_and_hash(const char* path) {
    thread_local workspace space;
    outcome result;
    // O_NONBLOCK matters only if the path has become a FIFO since the walk: without it, open() would wait for a writer.
    const descriptor file{::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    struct stat st{};
    if (file.get() < 0 || ::fstat(file.get(), &st) != 0) {
        result.error = errno;
        return result;
    }
    if (!S_ISREG(st.st_mode)) {
        result.error = EINVAL;
        return result;
    }
    space.hash.begin();
    for (;;) {
        const ssize_t got = ::read(file.get(), space.buffer.get(), workspace::size);
        if (got == 0) break;
        if (got < 0) {
            if (errno == EINTR) continue;
            result.error = errno;
            return result;
        }
        space.hash.add(std::span{space.buffer.get(), static_cast<std::size_t>(got)});
        result.bytes += static_cast<std::uint64_t>(got);
    }
    result.digest = space.hash.end();
    return result;
}

} // namespace

void file_record::hash() {
    const outcome result = read_and_hash(path.c_str());
    error = result.error;
    bytes = result.bytes;
    digest = result.digest;
    tally_.bytes_done.fetch_add(bytes, std::memory_order_relaxed);
    tally_.files_done.fetch_add(1, std::memory_order_relaxed);
}

} // namespace treehash
