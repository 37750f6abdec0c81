// SPDX-License-Identifier: BSL-1.0
//
// A server that can be looked into: metrics for Prometheus, the dump, and a health check over HTTP; and a control
// socket for the tool cmwq. Each connection is served by an item of an elastic queue, which may block.
#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>

#include <CLI/CLI.hpp>
#include <httplib.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace observe {

/// Reads a record from a disk. Here the disk is a pipe. Dumps know its name because the program exports it.
struct read_record {
    int disk;
    void operator()() const {
        cmwq::this_work::describe("record 17");
        char record[512];
        static_cast<void>(::read(disk, record, sizeof record));
    }
};

} // namespace observe

namespace {

using namespace std::chrono_literals;

/// Serves the connections of cpp-httplib. An idle connection keeps its thread until it times out; that blocks nobody
/// else here.
class http_queue final : public httplib::TaskQueue {
    using answer = decltype(std::declval<httplib::TaskQueue&>().enqueue(nullptr)); // bool in newer versions

public:
    answer enqueue(std::function<void()> serve) override {
        connections_.post(std::move(serve));
        return answer(true);
    }
    void shutdown() override { connections_.drain(); }

private:
    cmwq::workqueue<cmwq::elastic> connections_{"http"};
};

/// Reads records from a disk that does not answer until it is destroyed.
class broken_disk {
public:
    broken_disk() {
        if (::pipe(ends_.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        for (int i = 0; i < 4; ++i) reads_.queue(records_.emplace_back(observe::read_record{ends_[0]}));
    }
    ~broken_disk() {
        ::close(ends_[1]);
        reads_.drain();
        ::close(ends_[0]);
    }
    broken_disk(const broken_disk&) = delete;
    broken_disk& operator=(const broken_disk&) = delete;

private:
    std::array<int, 2> ends_{};
    std::list<cmwq::work<observe::read_record>> records_;
    cmwq::workqueue<cmwq::elastic> reads_{{.name = "disk", .max_active = 2, .exported = true}};
};

/// Something to see: every 10 ms it queues three items, which wait for 1 ms each.
class pulse {
public:
    pulse() { items_.queue_after(10ms, beat_); }
    ~pulse() { beat_.cancel_sync(); }
    pulse(const pulse&) = delete;
    pulse& operator=(const pulse&) = delete;

private:
    void beat() {
        for (int i = 0; i < 3; ++i) items_.post([] { std::this_thread::sleep_for(1ms); });
        items_.queue_after(10ms, beat_);
    }

    cmwq::workqueue<cmwq::elastic> items_{{.name = "pulse", .max_active = 4, .exported = true}};
    cmwq::delayed_work<std::function<void()>> beat_{[this] { beat(); }};
};

void add_pages(httplib::Server& server, cmwq::runtime& rt) {
    server.Get("/metrics", [&rt](const httplib::Request&, httplib::Response& to) {
        to.set_content(rt.metrics(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    });
    server.Get("/dump", [&rt](const httplib::Request& request, httplib::Response& to) {
        const bool as_json = request.get_param_value("format") == "json";
        to.set_content(rt.dump(as_json ? cmwq::dump_format::json : cmwq::dump_format::text),
                       as_json ? "application/json" : "text/plain; charset=utf-8");
    });
    server.Get("/health", [&rt](const httplib::Request&, httplib::Response& to) {
        const std::string hangs = rt.stall_report(1s);
        if (!hangs.empty()) to.status = 503; // a supervisor restarts the program
        to.set_content(hangs.empty() ? "ok\n" : hangs, "text/plain; charset=utf-8");
    });
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Serves /metrics, /dump, /dump?format=json and /health until SIGINT or SIGTERM.", "observe"};
    int port = 8080;
    bool stuck = false;
    app.add_option("--port", port, "Of 127.0.0.1; 0: any that is free")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    app.add_flag("--stuck", stuck, "With a disk that does not answer");
    CLI11_PARSE(app, argc, argv);

    // Before any thread exists, so that only the thread below gets these signals.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int s : {SIGINT, SIGTERM}) sigaddset(&signals, s);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    cmwq::runtime& rt = cmwq::runtime::global();
    const cmwq::control_socket control{rt};
    httplib::Server server;
    server.new_task_queue = [] { return new http_queue; };
    add_pages(server, rt);
    if (port == 0) port = server.bind_to_any_port("127.0.0.1");
    else if (!server.bind_to_port("127.0.0.1", port)) port = -1;
    if (port < 0) {
        std::fprintf(stderr, "observe: the port cannot be opened\n");
        return 1;
    }

    const pulse beats;
    std::optional<broken_disk> disk;
    if (stuck) disk.emplace();
    std::printf("process %d: http://127.0.0.1:%d/metrics, and cmwq top %d\n", ::getpid(), port, ::getpid());
    std::fflush(stdout);
    std::thread stopper([&] {
        int signal = 0;
        sigwait(&signals, &signal);
        server.stop();
    });
    server.listen_after_bind();
    stopper.join();
}
