// expect: the callable must be callable without arguments
#include <cmwq/cmwq.hpp>

void misuse() {
    cmwq::work item{[](int) {}};
}
