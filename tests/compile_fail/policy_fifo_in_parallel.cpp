// expect: a fifo policy runs one item at a time: its default_max_active is 1
// A queue cannot run its items in strict order and several of them at once.
#include <cmwq/workqueue.hpp>

struct contradiction : cmwq::ordered {
    static constexpr unsigned default_max_active = 4;
};

void misuse(cmwq::workqueue<contradiction>& q) { q.flush(); }
