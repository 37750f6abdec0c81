// exits: 0
// says: items 300, threads 0
// proves: life-9
// A static runtime with static queues and items: exit() destroys them in the opposite order of their construction, and
// no thread is left.
#include "nr_tasks.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace {

std::atomic<int> runs{0};
struct report {
    ~report() {
        int threads = 0; // of the library: a sanitizer has a thread of its own
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            std::string name;
            std::ifstream file(task.path() / "comm");
            std::getline(file, name);
            threads += name.starts_with("cmwq/") && !cmwq_test::is_ending(task.path()) ? 1 : 0;
        }
        std::printf("items %d, threads %d\n", runs.load(), threads);
    }
} at_the_end;
cmwq::runtime rt;
cmwq::workqueue<> first{rt, "first"};
cmwq::workqueue<cmwq::elastic> second{rt, "second"};
cmwq::delayed_work<std::function<void()>> never{[] { runs += 1000; }}; // destroyed before its queue

} // namespace

int main() {
    first.queue_after(std::chrono::hours{1}, never);
    for (int i = 0; i < 100; ++i) {
        first.post([] { ++runs; });
        second.post([] {
            ++runs;
            first.post([] { ++runs; }); // allowed: `first` is destroyed after `second`
        });
    }
}
