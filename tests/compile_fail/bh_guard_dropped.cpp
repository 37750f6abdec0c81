// expect: (nodiscard|ignoring)
// The guard is gone at the end of the statement.
#include <cmwq/bh.hpp>

void misuse() { cmwq::bh_disable_guard(); }
