// expect: cmwq: lock order: queue taken while holding pool
// Builds with assertions check the order of the library's own locks.
#define CMWQ_ASSERTIONS
#include <cmwq/detail/sync/mutex.hpp>

using namespace cmwq::detail;

int main() {
    ranked_mutex<lock_rank::queue> queue;
    ranked_mutex<lock_rank::pool> pool;
    {
        const scoped_lock outer(queue);
        const scoped_lock inner(pool);
    }
    const scoped_lock outer(pool);
    const scoped_lock inner(queue);
}
