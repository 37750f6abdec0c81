// expect: static assertion failed.*: an ordered queue with management
// A queue that runs one item at a time has no concurrency to manage.
#include <cmwq/workqueue.hpp>

struct managed : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};

static_assert(cmwq::execution_policy<managed>, "an ordered queue with management");
