// SPDX-License-Identifier: BSL-1.0
//
// Writes its metrics and a trace for the readers of others, and prints what they must find: for each queue its name,
// its policy, how many items have ended, and how many of these have announced a block.
//
//   program METRICS TRACE
#include <cmwq/cmwq.hpp>
#include <cmwq/trace.hpp>

#include <cstdio>
#include <fstream>
#include <string_view>

namespace {

template <class Policy>
void run_items(cmwq::workqueue<Policy>& queue, int nr_items) {
    for (int i = 0; i < nr_items; ++i) {
        if (i % 2 == 0) queue.post([] {});
        else queue.post([] { cmwq::blocking([] {}); });
    }
    queue.flush();
    std::printf("%.*s %s %d %d\n", static_cast<int>(queue.name().size()), queue.name().data(), Policy::name.data(),
                nr_items, nr_items / 2);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    cmwq::runtime rt{{.name = "readers \"1\"\\"}}; // characters that a label has to escape
    cmwq::workqueue<> disk{rt, "disk"};
    cmwq::workqueue<cmwq::unbound> net{rt, "net"};
    cmwq::workqueue<cmwq::elastic> tree{rt, "tree"};
    cmwq::workqueue<cmwq::ordered> journal{rt, "journal"};
    {
        const cmwq::tracer trace{rt, argv[2]};
        run_items(disk, 20);
        run_items(net, 30);
        run_items(tree, 40);
        run_items(journal, 10);
    }
    std::ofstream(argv[1]) << rt.metrics();
    return 0;
}
