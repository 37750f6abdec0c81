// expect: static assertion failed.*: an ordered queue with management
// With one item at a time there is nothing to manage.
#include <cmwq/workqueue.hpp>

struct managed : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};

static_assert(cmwq::execution_policy<managed>, "an ordered queue with management");
