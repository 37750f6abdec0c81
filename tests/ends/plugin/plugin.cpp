// A plugin that contains the library and shares it with no other module: symbols are hidden.
#include "plugin.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>

namespace {

template <class Policy>
int run(cmwq::workqueue<Policy>&& queue, int n) {
    std::atomic<int> runs{0};
    cmwq::work item{[&] { ++runs; }};
    for (int i = 0; i + 1 < n; ++i) queue.post([&] { ++runs; });
    queue.queue(item);
    queue.flush();
    return runs;
}

} // namespace

extern "C" [[gnu::visibility("default")]] int run_on_own_runtime(int n) {
    cmwq::runtime rt;
    return run(cmwq::workqueue<>{rt, "bound"}, n) + run(cmwq::workqueue<cmwq::unbound>{rt, "unbound"}, n) +
           run(cmwq::workqueue<cmwq::elastic>{rt, "elastic"}, n) +
           run(cmwq::workqueue<cmwq::ordered>{rt, "ordered"}, n) + run(cmwq::workqueue<cmwq::bh>{rt, "bh"}, n);
}

// dlclose() destroys the static objects of this function.
extern "C" [[gnu::visibility("default")]] int run_on_static_runtime(int n) {
    static cmwq::runtime rt;
    static cmwq::workqueue<> queue{rt, "static"};
    static std::atomic<int> runs{0};
    for (int i = 0; i < n; ++i) queue.post([] { ++runs; });
    queue.flush();
    queue.post([] { ++runs; });
    return n;
}

extern "C" [[gnu::visibility("default")]] int run_on_global_runtime(int n) {
    return run(cmwq::workqueue<>{"bound"}, n) + run(cmwq::workqueue<cmwq::unbound>{"unbound"}, n) +
           run(cmwq::workqueue<cmwq::elastic>{"elastic"}, n) + run(cmwq::workqueue<cmwq::ordered>{"ordered"}, n) +
           run(cmwq::workqueue<cmwq::bh>{"bh"}, n);
}
