// expect: set_max_active
// The limit of a bottom-half queue is part of its guarantee.
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<cmwq::bh>& q) { q.set_max_active(2); }
