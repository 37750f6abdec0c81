// expect: static assertion failed.*: a queue that runs nothing
#include <cmwq/workqueue.hpp>

struct never : cmwq::bound {
    static constexpr unsigned default_max_active = 0;
};

static_assert(cmwq::execution_policy<never>, "a queue that runs nothing");
