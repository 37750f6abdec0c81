// expect: (no matching (member )?function|invalid reference to member function|constraints not satisfied)
// The pools of a CPU have no attributes.
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<>& q) { q.apply(cmwq::attrs{}); }
