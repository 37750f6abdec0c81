// expect: no member named 'flush'
// proves: kernel-14
// A flush of a queue that all code shares would wait for the items of all code.
#include <cmwq/cmwq.hpp>

void misuse() { cmwq::system_wq().flush(); }
