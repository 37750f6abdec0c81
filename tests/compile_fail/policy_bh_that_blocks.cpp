// expect: a dispatcher policy is fifo, without may_block and concurrency_managed
// Items of a dispatcher queue run in the thread that queues them, which must not wait for long.
#include <cmwq/workqueue.hpp>

struct slow : cmwq::bh {
    static constexpr bool may_block = true;
};

void misuse(cmwq::workqueue<slow>& q) { q.flush(); }
