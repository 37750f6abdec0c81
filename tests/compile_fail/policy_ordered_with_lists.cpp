// expect: a policy with local_lists is attrs_keyed with concurrency_managed, and not fifo
// Items on the lists of workers start in no order.
#include <cmwq/workqueue.hpp>

struct shuffled : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
    static constexpr bool local_lists = true;
};

void misuse(cmwq::workqueue<shuffled>& q) { q.flush(); }
