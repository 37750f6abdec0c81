// SPDX-License-Identifier: BSL-1.0
//
// A load beside clients of its control socket that mean no good: 1,000 that connect and send half a request, and one
// that sends bytes without an end. Phases with such clients and without take turns.
#include "support/cli.hpp"
#include "support/json.hpp"
#include "support/latencies.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

enum class phase : int { quiet, stalled, flood, end };

/// What the process of the clients and that of the load tell each other.
struct shared {
    std::atomic<phase> now{phase::quiet};
    std::atomic<std::uint64_t> bytes{0}, connections{0};
};

// --- the process of the clients --------------------------------------------------------------------------------------

class clients {
public:
    clients(std::string path, std::size_t nr, shared& s) : path_(std::move(path)), fds_(nr, -1), shared_(s) {}

    void run() {
        std::string junk(65'536, '{');
        junk.back() = '\n';
        for (phase p{}; (p = shared_.now.load()) != phase::end;) {
            switch (p) {
            case phase::stalled: keep_stalled(); break;
            case phase::flood: flood(junk); break;
            default: close_all(); std::this_thread::sleep_for(1ms);
            }
        }
    }

private:
    int connect() {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        std::memcpy(a.sun_path, path_.c_str(), path_.size() + 1);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
            ++shared_.connections;
            return fd;
        }
        ::close(fd); // the queue of the listener is full
        return -1;
    }
    void close_all() {
        for (int& fd : fds_) {
            if (fd >= 0) ::close(fd);
            fd = -1;
        }
    }
    // A client that was dropped comes again.
    void keep_stalled() {
        constexpr char half[] = "{\"do\":\"du";
        for (int& fd : fds_) {
            pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
            if (fd >= 0 && ::poll(&one, 1, 0) == 0) continue;
            if (fd >= 0) ::close(fd);
            fd = connect();
            if (fd < 0) break;
            if (::send(fd, half, sizeof half - 1, MSG_NOSIGNAL) > 0) shared_.bytes += sizeof half - 1;
        }
        std::this_thread::sleep_for(1ms);
    }
    // As much as the socket takes; then it comes again.
    void flood(const std::string& junk) {
        int& fd = fds_.front();
        if (fd < 0) fd = connect();
        const ssize_t n = fd < 0 ? -1 : ::send(fd, junk.data(), junk.size(), MSG_NOSIGNAL);
        if (n > 0) {
            shared_.bytes += static_cast<std::uint64_t>(n);
        } else {
            if (fd >= 0) ::close(fd);
            fd = -1;
            std::this_thread::sleep_for(1ms);
        }
    }

    const std::string path_;
    std::vector<int> fds_;
    shared& shared_;
};

// --- the process of the load -----------------------------------------------------------------------------------------

/// CPU time of the thread of that name, in milliseconds.
double cpu_ms_of(const std::string& name) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string comm;
        std::getline(std::ifstream(task.path() / "comm"), comm);
        if (comm != name) continue;
        std::uint64_t ns = 0; // the first number: time on a CPU
        std::ifstream(task.path() / "schedstat") >> ns;
        return static_cast<double>(ns) * 1e-6;
    }
    return 0;
}

struct settings {
    std::string kind = "stall";
    unsigned rounds = 10, clients = 1000;
    double seconds = 1;
};

struct figures {
    std::vector<double> items_per_second, control_cpu_percent;
    std::uint64_t bytes = 0, connections = 0;
};

void measure(const settings& s, const std::string& folder, shared& common) {
    cmwq::runtime rt;
    const cmwq::control_socket control{rt, {.folder = folder}};
    cmwq::workqueue<cmwq::elastic> q{rt, "load"};
    const std::array phases{phase::quiet, s.kind == "stall" ? phase::stalled : phase::flood};
    std::array<figures, phases.size()> all;
    for (unsigned round = 0; round <= s.rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t which = round % 2 == 0 ? i : all.size() - 1 - i;
            common.now = phases.at(which);
            std::this_thread::sleep_for(100ms);
            const std::uint64_t bytes = common.bytes, connections = common.connections;
            const double cpu = cpu_ms_of("cmwq/control");
            const bench::stopwatch watch;
            std::atomic<std::uint64_t> done{0};
            std::uint64_t queued = 0;
            while (watch.ms() < s.seconds * 1e3) {
                for (int n = 0; n < 1000; ++n) q.post([&done] { done.fetch_add(1, std::memory_order_relaxed); });
                queued += 1000;
                q.flush();
            }
            const double ms = watch.ms();
            if (round == 0) continue; // makes the workers
            figures& f = all.at(which);
            f.items_per_second.push_back(static_cast<double>(queued) / ms * 1e3);
            f.control_cpu_percent.push_back((cpu_ms_of("cmwq/control") - cpu) / ms * 100);
            f.bytes += common.bytes - bytes;
            f.connections += common.connections - connections;
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const figures& f = all.at(i);
        std::vector<double> ratio;
        for (std::size_t r = 0; r < f.items_per_second.size(); ++r)
            ratio.push_back(f.items_per_second[r] / all[0].items_per_second[r]);
        bench::json_line()
            .add("clients", i == 0 ? "none" : s.kind.c_str())
            .add("items_per_second", bench::median(f.items_per_second))
            .add("of_quiet", bench::median(ratio))
            .add("control_cpu_percent", bench::median(f.control_cpu_percent))
            .add("megabytes_sent", static_cast<double>(f.bytes) * 1e-6)
            .add("connections", f.connections)
            .print();
    }
}

/// Before any thread exists. Returns the child.
pid_t start_clients(const std::string& folder, const settings& s, shared& common) {
    const std::string path = folder + '/' + std::to_string(::getpid()) + ".0";
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::setpriority(PRIO_PROCESS, 0, 19); // the load shall suffer from the server, and not because two CPUs are few
    rlimit files{.rlim_cur = s.clients + 64, .rlim_max = s.clients + 64};
    ::setrlimit(RLIMIT_NOFILE, &files);
    clients(path, s.clients, common).run();
    ::_exit(0);
}

void run(const settings& s) {
    std::string folder = (std::filesystem::temp_directory_path() / "control_clients.XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    auto& common = *new (memory) shared;
    const pid_t child = start_clients(folder, s, common);
    measure(s, folder, common);
    common.now = phase::end;
    ::waitpid(child, nullptr, 0);
    std::filesystem::remove_all(folder);
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{
        "Items per second beside clients of the control socket. Prints a line of JSON for each kind of client.",
        "control_clients"};
    app.add_option("--kind", s.kind, "stall or flood")->check(CLI::IsMember({"stall", "flood"}))->capture_default_str();
    app.add_option("--rounds", s.rounds)->check(bench::between(1, 1000))->capture_default_str();
    app.add_option("--clients", s.clients, "that stall")->check(bench::between(1, 10'000))->capture_default_str();
    app.add_option("--seconds", s.seconds, "of each phase")->check(bench::duration())->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::run_and_report("control_clients", [&] { run(s); });
}
