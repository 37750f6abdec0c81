// expect: cmwq: lock order: pool taken while holding pool
// A thread never holds two pool locks at once, in any order.
#define CMWQ_ASSERTIONS
#include <cmwq/detail/sync/mutex.hpp>

using namespace cmwq::detail;

int main() {
    ranked_mutex<lock_rank::pool> one, another;
    const scoped_lock outer(one);
    const scoped_lock inner(another);
}
