// SPDX-License-Identifier: BSL-1.0
//
// Node locality of a build-like fan-out: submitters on each node make sources; an item compiles each of them with
// memory of its own, and queues items that work on parts of the result. Counted: how many items ran on the node of the
// thread that had started the fan-out, and how much of their memory and of their stacks is there.
//
// With a synthetic topology nothing can be bound, so there only the pools count: how many serve CPUs of several nodes.
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/json.hpp"
#include "support/scopes.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct settings {
    std::string policy = "unbound", scope = "default", machine;
    bool strict = false;
    unsigned units = 50, parts = 4, submitters = 2, kib = 256;
};

/// Memory fresh from the system, so that each page goes to the node of the CPU that touches it first.
class pages {
public:
    explicit pages(std::size_t bytes) : bytes_(bytes) {
        void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) throw std::bad_alloc();
        start_ = static_cast<unsigned char*>(p);
    }
    ~pages() { ::munmap(start_, bytes_); }
    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;

    void fill(unsigned char with) noexcept {
        for (std::size_t i = 0; i < bytes_; ++i) start_[i] = static_cast<unsigned char>(with + i);
    }
    [[nodiscard]] std::uint64_t sum() const noexcept {
        std::uint64_t s = 0;
        for (std::size_t i = 0; i < bytes_; ++i) s += start_[i];
        return s;
    }
    [[nodiscard]] const unsigned char* data() const noexcept { return start_; }

private:
    const std::size_t bytes_;
    unsigned char* start_ = nullptr;
};

/// The node of the page with this address; -1 if the system does not tell.
int node_of(const void* address) {
    void* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{4095});
    int status = -1;
    return ::syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &status, 0) == 0 ? status : -1;
}

struct counts {
    std::atomic<unsigned> items{0}, on_node{0}, memory{0}, stack{0};
    std::atomic<std::uint64_t> result{0};
};

void note_place(counts& c, unsigned home, const pages& memory) {
    unsigned cpu = 0, node = 0;
    ::getcpu(&cpu, &node);
    const unsigned char here = 0;
    c.items += 1;
    c.on_node += node == home ? 1 : 0;
    c.memory += node_of(memory.data()) == static_cast<int>(home) ? 1 : 0;
    c.stack += node_of(&here) == static_cast<int>(home) ? 1 : 0;
}

template <class Policy>
void submit(const settings& s, cmwq::workqueue<Policy>& queue, unsigned home, counts& c) {
    for (unsigned u = 0; u < s.units; ++u) {
        auto source = std::make_shared<pages>(s.kib * 1024);
        source->fill(static_cast<unsigned char>(u));
        queue.post([&s, &queue, &c, home, source] {
            auto object = std::make_shared<pages>(s.kib * 1024);
            object->fill(static_cast<unsigned char>(source->sum()));
            note_place(c, home, *object);
            for (unsigned p = 0; p < s.parts; ++p) {
                queue.post([&s, &c, home, object] {
                    pages section(s.kib * 256);
                    section.fill(static_cast<unsigned char>(object->sum()));
                    note_place(c, home, section);
                    c.result += section.sum();
                });
            }
        });
    }
}

template <class Policy>
cmwq::options<Policy> options(const settings& s, cmwq::affinity_scope scope) {
    return {.name = "build", .attrs = cmwq::attrs{}.affinity(scope).strict(s.strict)};
}

bench::json_line line(const settings& s) {
    bench::json_line l;
    return l.add("policy", s.policy).add("scope", s.strict ? s.scope + " strict" : s.scope);
}

template <class Policy>
void measure(const settings& s, cmwq::affinity_scope scope) {
    const auto machine = cmwq::topology::system();
    cmwq::runtime rt;
    cmwq::workqueue<Policy> queue{rt, options<Policy>(s, scope)};
    counts c;
    std::vector<std::thread> threads;
    const bench::stopwatch watch;
    for (unsigned i = 0; i < s.submitters; ++i) {
        const auto nodes = machine.pods(cmwq::affinity_scope::numa);
        const auto& node = nodes[i % nodes.size()];
        threads.emplace_back([&, cpus = node.cpus, home = node.node] {
            const bench::pinned here{cpus};
            submit(s, queue, home, c);
        });
    }
    for (std::thread& t : threads) t.join();
    queue.drain();
    const double seconds = watch.ms() * 1e-3;
    const double items = c.items.load();
    line(s)
        .add("nodes", machine.nr_nodes())
        .add("submitters", s.submitters)
        .add("items", items)
        .add("on_node_percent", 100 * c.on_node.load() / items)
        .add("memory_percent", 100 * c.memory.load() / items)
        .add("stack_percent", 100 * c.stack.load() / items)
        .add("seconds", seconds)
        .print();
}

/// Queues an item for each CPU, and reads the number of its pool from the name of the worker.
template <class Policy>
void count_pools(const settings& s, cmwq::affinity_scope scope) {
    cmwq::runtime_options o;
    o.machine = cmwq::topology::synthetic(s.machine);
    cmwq::runtime rt{o};
    cmwq::workqueue<Policy> queue{rt, options<Policy>(s, scope)};
    std::map<std::string, std::set<unsigned>> nodes_of_pool;
    std::mutex lock;
    for (const unsigned cpu : rt.cpus()) {
        cmwq::work look{[&] {
            std::array<char, 16> name{};
            ::pthread_getname_np(::pthread_self(), name.data(), name.size());
            const std::string worker = name.data();
            const std::lock_guard g(lock);
            nodes_of_pool[worker.substr(0, worker.find(':'))].insert(o.machine->node_of(cpu));
        }};
        queue.queue_on(cpu, look);
        look.flush();
    }
    unsigned of_several = 0;
    for (const auto& [pool, nodes] : nodes_of_pool) of_several += nodes.size() > 1 ? 1 : 0;
    line(s)
        .add("machine", s.machine)
        .add("nodes", o.machine->nr_nodes())
        .add("cpus", rt.cpus().size())
        .add("pools", nodes_of_pool.size())
        .add("pools_of_several_nodes", of_several)
        .print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    const auto scopes = bench::scopes_by_name();
    CLI::App app{"Node locality of a build-like fan-out. Prints one line of JSON.", "numa"};
    app.add_option("--policy", s.policy, "unbound or elastic")
        ->check(CLI::IsMember({"unbound", "elastic"}))
        ->capture_default_str();
    app.add_option("--scope", s.scope, "affinity scope")->check(CLI::IsMember(scopes))->capture_default_str();
    app.add_flag("--strict", s.strict, "workers may not leave their pod");
    app.add_option("--submitters", s.submitters, "threads that start fan-outs, on each node in turn")
        ->check(bench::between(1, 1000))
        ->capture_default_str();
    app.add_option("--units", s.units, "sources of each of them")
        ->check(bench::between(1, 100'000))
        ->capture_default_str();
    app.add_option("--parts", s.parts, "items that each source makes")
        ->check(bench::between(1, 10'000))
        ->capture_default_str();
    app.add_option("--kib", s.kib, "KiB of a source")->check(bench::between(4, 65'536))->capture_default_str();
    app.add_option("--machine", s.machine, "count the pools of this synthetic topology of hwloc instead");
    CLI11_PARSE(app, argc, argv);

    const cmwq::affinity_scope scope = scopes.at(s.scope);
    const auto run = [&]<class Policy>() {
        if (s.machine.empty()) measure<Policy>(s, scope);
        else count_pools<Policy>(s, scope);
    };
    return bench::run_and_report("numa", [&] {
        if (s.policy == "elastic") run.operator()<cmwq::elastic>();
        else run.operator()<cmwq::unbound>();
    });
}
