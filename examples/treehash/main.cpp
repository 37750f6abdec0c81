// SPDX-License-Identifier: BSL-1.0
//
// treehash: SHA-256 of every file of a directory tree. One work item walks the tree, and one work item per file reads
// and hashes the file with plain blocking calls. When a read waits for the disk, the library runs another item on that
// CPU.
#include "cpus.hpp"
#include "job.hpp"
#include "options.hpp"
#include "page_cache.hpp"
#include "pool.hpp"
#include "progress.hpp"
#include "report.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

namespace treehash { namespace {

constexpr int ok = 0;
constexpr int incomplete = 1;

struct close_file {
    void operator()(std::FILE* f) const noexcept {
        if (f != stdout) std::fclose(f);
    }
};
using file = std::unique_ptr<std::FILE, close_file>;

void complain(const std::string& about, int error) {
    std::fprintf(stderr, "treehash: %s: %s\n", about.c_str(), std::strerror(error));
}

file open_for_writing(const std::string& path) {
    file f{std::fopen(path.c_str(), "we")};
    if (!f) complain(path, errno);
    return f;
}

double seconds(const timeval& t) noexcept {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

/// Wall and CPU time of the process from the construction of this object to `stop`.
class stopwatch {
public:
    void stop(figures& f) const {
        f.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        const rusage now = usage();
        f.cpu_seconds =
            seconds(now.ru_utime) + seconds(now.ru_stime) - seconds(before_.ru_utime) - seconds(before_.ru_stime);
        f.voluntary_switches = now.ru_nvcsw - before_.ru_nvcsw;
    }

private:
    static rusage usage() noexcept {
        rusage u{};
        ::getrusage(RUSAGE_SELF, &u);
        return u;
    }

    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    rusage before_ = usage();
};

std::unique_ptr<pool> make_pool(const options& o) {
    switch (o.pool) {
    case pool_choice::cmwq: return make_cmwq_pool(o);
    case pool_choice::asio: return make_asio_pool(o);
    case pool_choice::serial: return make_serial_pool();
    }
    return nullptr;
}

void wait_for_signal() {
    sigset_t ends{};
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr); // the threads of the library do not take signals of the process
    std::fprintf(stderr, "treehash: finished; ends on SIGINT, which is Ctrl-C, or SIGTERM\n");
    int which = 0;
    sigwait(&ends, &which);
}

int run(const options& o) {
    // Opened first: the hashing may take an hour, so report at once if the result cannot be written.
    const file out = o.out.empty() ? file{stdout} : open_for_writing(o.out);
    const file json = o.json.empty() ? nullptr : open_for_writing(o.json);
    if (!out || (!o.json.empty() && !json)) return incomplete;

    const std::unique_ptr<pool> workers = make_pool(o); // first: one that is watched answers from here on
    if (o.cold) {
        const dropped d = drop_from_page_cache(o.paths);
        std::fprintf(stderr, "treehash: dropped %llu files, %.1f MB, from the page cache\n",
                     static_cast<unsigned long long>(d.files), static_cast<double>(d.bytes) / 1e6);
    }

    figures f{.pool = o.pool, .cold = o.cold, .cpus = usable_cpus()};
    const stopwatch watch;
    job work{o.paths};
    {
        const progress_bar bar{work.progress()};
        workers->run(work);
    }
    watch.stop(f);
    f.of_pool = workers->figures();

    const std::vector<const file_record*> hashed = work.hashed();
    const std::vector<failure> failures = work.failures();
    for (const failure& fail : failures) complain(fail.path, fail.error);
    f.files = hashed.size();
    f.failures = failures.size();
    for (const file_record* r : hashed) f.bytes += r->bytes;

    bool complete = failures.empty();
    if (!write_manifest(out.get(), hashed)) {
        complain(o.out.empty() ? "standard output" : o.out, errno);
        complete = false;
    }
    print_figures(stderr, f);
    if (json && !write_json(json.get(), f)) {
        complain(o.json, errno);
        complete = false;
    }
    if (o.watched) wait_for_signal();
    return complete ? ok : incomplete;
}

}} // namespace treehash

int main(int argc, char** argv) {
    treehash::options o;
    if (const std::optional<int> status = treehash::parse_options(argc, argv, o)) return *status;
    try {
        return treehash::run(o);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "treehash: %s\n", e.what());
        return treehash::incomplete;
    }
}
