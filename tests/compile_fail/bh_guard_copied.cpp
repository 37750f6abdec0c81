// expect: (deleted|delete)
// With a copy the guard would end twice.
#include <cmwq/bh.hpp>

void misuse(const cmwq::bh_disable_guard& guard) { const cmwq::bh_disable_guard copy = guard; }
