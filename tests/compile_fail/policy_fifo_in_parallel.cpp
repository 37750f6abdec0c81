// expect: static assertion failed.*: in order and in parallel
// In strict order and several at once exclude each other.
#include <cmwq/workqueue.hpp>

struct contradiction : cmwq::bound {
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 4;
};

static_assert(cmwq::execution_policy<contradiction>, "in order and in parallel");
