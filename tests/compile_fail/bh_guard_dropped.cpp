// expect: (nodiscard|ignoring)
// A guard without a name ends with its statement.
#include <cmwq/bh.hpp>

void misuse() { cmwq::bh_disable_guard(); }
