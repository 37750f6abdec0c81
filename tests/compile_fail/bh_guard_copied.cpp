// expect: (deleted|delete)
// A copy would end the guard twice.
#include <cmwq/bh.hpp>

void misuse(const cmwq::bh_disable_guard& guard) { const cmwq::bh_disable_guard copy = guard; }
