// expect: no matching (member )?function.*post
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<>& queue) {
    queue.post([](int) {});
}
