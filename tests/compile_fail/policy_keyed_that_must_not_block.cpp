// expect: an attrs_keyed policy has may_block
// Pools with threads let items block.
#include <cmwq/workqueue.hpp>

struct brisk : cmwq::unbound {
    static constexpr bool may_block = false;
};

void misuse(cmwq::workqueue<brisk>& q) { q.flush(); }
