// expect: a policy's default_max_active is 1 to cmwq::max_active_ceiling
// A queue with this limit would run nothing.
#include <cmwq/workqueue.hpp>

struct never : cmwq::bound {
    static constexpr unsigned default_max_active = 0;
};

void misuse(cmwq::workqueue<never>& q) { q.flush(); }
