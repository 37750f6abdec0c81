// expect: static assertion failed.*: in order and in parallel
// A queue cannot run its items in strict order and several of them at once.
#include <cmwq/workqueue.hpp>

struct contradiction : cmwq::bound {
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 4;
};

static_assert(cmwq::execution_policy<contradiction>, "in order and in parallel");
