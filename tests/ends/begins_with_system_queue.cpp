// exits: 0
// says: ran 2
// The first thing that a program has to do with the library may be a system queue, before main() as well.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cstdio>

namespace {

std::atomic<int> runs{0};
cmwq::work item{[] { ++runs; }};
const bool queued = cmwq::system_highpri_wq().queue(item) == cmwq::queue_status::queued;

} // namespace

int main() {
    item.flush();
    if (queued && cmwq::system_wq().queue(item) == cmwq::queue_status::queued) item.flush();
    std::printf("ran %d\n", runs.load());
}
