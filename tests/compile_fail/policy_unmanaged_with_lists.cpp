// expect: a policy with local_lists is attrs_keyed with concurrency_managed, and not fifo
// Without concurrency management an item has a worker at once, so it never waits on a list.
#include <cmwq/workqueue.hpp>

struct listed : cmwq::unbound {
    static constexpr bool local_lists = true;
};

void misuse(cmwq::workqueue<listed>& q) { q.flush(); }
