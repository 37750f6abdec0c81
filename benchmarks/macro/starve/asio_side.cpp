// SPDX-License-Identifier: BSL-1.0
#include "asio_side.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <semaphore>
#include <system_error>

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace starve {

namespace {

// In memory that both processes share: the parent can read the results after the child was killed.
struct shared_page {
    std::atomic<unsigned> completed{0};
    double milliseconds = 0;
};

shared_page* make_shared_page() {
    void* p = ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return new (p) shared_page;
}

void child(shared_page& page, unsigned items, unsigned threads) {
    boost::asio::thread_pool pool{threads};
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < items; ++i) {
        boost::asio::post(pool, [&] {
            std::binary_semaphore child_ran{0};
            boost::asio::post(pool, [&] { child_ran.release(); });
            child_ran.acquire();
            page.completed.fetch_add(1);
        });
    }
    pool.join();
    page.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

asio_outcome run_asio(unsigned items, unsigned threads, std::chrono::duration<double> limit) {
    shared_page* page = make_shared_page();
    int alive[2]; // its write end closes when the child ends
    if (::pipe(alive) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    const pid_t pid = ::fork();
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid == 0) {
        ::close(alive[0]);
        child(*page, items, threads);
        ::_exit(0);
    }
    ::close(alive[1]);
    pollfd ended{.fd = alive[0], .events = 0, .revents = 0};
    const bool in_time = ::poll(&ended, 1, static_cast<int>(limit.count() * 1000)) == 1;
    if (!in_time) ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(alive[0]);

    asio_outcome outcome{.completed = page->completed.load(), .milliseconds = {}};
    if (in_time) outcome.milliseconds = page->milliseconds;
    ::munmap(page, sizeof *page);
    return outcome;
}

} // namespace starve
