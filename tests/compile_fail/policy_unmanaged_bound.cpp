// expect: static assertion failed.*: a bound queue without management
// The pools of a CPU always manage their concurrency.
#include <cmwq/workqueue.hpp>

struct unmanaged : cmwq::bound {
    static constexpr bool concurrency_managed = false;
};

static_assert(cmwq::execution_policy<unmanaged>, "a bound queue without management");
