// expect: (no matching (member )?function|invalid reference to member function|constraints not satisfied)
// The limit of an ordered queue is its guarantee.
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<cmwq::ordered>& q) { q.set_max_active(2); }
