// expect: the callable must be callable without arguments
#include <cmwq/workqueue.hpp>

void misuse() {
    cmwq::work item{[](int) {}};
}
