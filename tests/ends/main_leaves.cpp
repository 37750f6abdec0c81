// exits: 5
// says: main has gone, static object gone
// main() ends by pthread_exit(): the process continues with the library's threads, until a thread calls exit().
#include <cmwq/cmwq.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <pthread.h>
#include <string>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

struct last {
    ~last() { std::puts("static object gone"); }
} at_the_end;

/// Whether the first thread of the process has ended: it stays as a zombie as long as other threads exist.
bool main_has_gone() {
    std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.find(") Z") != std::string::npos;
}

} // namespace

int main() {
    static cmwq::delayed_work<std::function<void()>>* looks = nullptr;
    looks = new cmwq::delayed_work<std::function<void()>>([] {
        if (!main_has_gone()) {
            cmwq::system_wq().queue_after(1ms, *looks);
            return;
        }
        std::printf("main has gone, ");
        std::exit(5);
    });
    cmwq::system_wq().queue_after(1ms, *looks);
    ::pthread_exit(nullptr);
}
