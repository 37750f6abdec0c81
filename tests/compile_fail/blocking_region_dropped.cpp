// expect: nodiscard|unused
// A region without a name ends where it begins.
#include <cmwq/blocking_region.hpp>

void misuse() { cmwq::blocking_region{}; }
