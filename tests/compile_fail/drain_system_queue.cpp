// expect: no member named 'drain'
// It would turn everybody else's items away.
#include <cmwq/cmwq.hpp>

void misuse() { cmwq::system_wq().drain(); }
