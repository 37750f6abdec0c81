// exits: 0
// says: reported fired dumped
// proves: life-13
// While dlopen() runs constructors, the dynamic linker keeps its lock. Reports name functions nevertheless, and nothing
// in the runtime waits for that lock: a constructor may wait for a timer, or for a report.
#include "eventually.hpp"
#include "fake_threads.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using cmwq_test::eventually;

namespace {

cmwq::runtime* the_runtime;
cmwq::workqueue<cmwq::unbound>* has_worker;
std::atomic<int> reports{0};

void in_constructor() {
    const int before = reports;
    std::printf(eventually([&] { return reports >= before + 2; }) ? "reported" : "no report");
    std::atomic<bool> fired{false};
    cmwq::delayed_work timer{[&] { fired = true; }};
    has_worker->queue_after(1ms, timer);
    std::printf(eventually([&] { return fired.load(); }) ? " fired" : ", no timer");
    std::atomic<bool> dumped{false};
    std::thread t([&] { dumped = the_runtime->dump().find("\"forlorn\"") != std::string::npos; });
    std::printf(eventually([&] { return dumped.load(); }) ? " dumped\n" : ", no dump\n");
    std::fflush(stdout);
    if (!fired || !dumped) std::_Exit(1); // those threads wait for this one
    t.join();
}

} // namespace

int main(int, char** argv) {
    cmwq_test::fake_threads threads;
    cmwq::runtime rt{{.watchdog = 10ms,
                      .on_event = [](const cmwq::event& e) { reports += e.what == cmwq::event::kind::stalled; },
                      .threads = &threads}};
    cmwq::workqueue<cmwq::unbound> served{rt, "served"};
    served.post([] {});
    served.flush();
    cmwq::workqueue<> forlorn{rt, "forlorn"};
    threads.refuse();
    forlorn.post([] {}); // its pool stalls, and each report names the function of this item
    the_runtime = &rt;
    has_worker = &served;
    char address[32];
    std::snprintf(address, sizeof address, "%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&in_constructor)));
    ::setenv("CMWQ_TEST_IN_CONSTRUCTOR", address, 1);
    const std::string plugin = std::string(argv[0]) + ".plugin";
    if (::dlopen(plugin.c_str(), RTLD_NOW) == nullptr) std::puts(::dlerror());
    threads.allow();
    forlorn.flush();
}
