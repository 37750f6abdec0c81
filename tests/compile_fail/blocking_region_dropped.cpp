// expect: nodiscard|unused
// A region without a name ends with its statement.
#include <cmwq/blocking_region.hpp>

void misuse() { cmwq::blocking_region{}; }
