// expect: deleted
#include <cmwq/blocking_region.hpp>

void misuse() {
    cmwq::blocking_region region;
    auto copy = region;
}
