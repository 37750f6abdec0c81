// expect: a per_cpu policy has concurrency_managed and may_block, and is not fifo
// The pools of a CPU always manage their concurrency.
#include <cmwq/workqueue.hpp>

struct unmanaged : cmwq::bound {
    static constexpr bool concurrency_managed = false;
};

void misuse(cmwq::workqueue<unmanaged>& q) { q.flush(); }
