// expect: set_max_active
// Its limit is part of its promise.
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<cmwq::bh>& q) { q.set_max_active(2); }
