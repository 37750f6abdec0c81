// expect: no matching (member )?function.*post
#include <cmwq/cmwq.hpp>

void misuse(cmwq::workqueue<>& queue) {
    queue.post([](int) {});
}
