// expect: no member named 'drain'
// A drain would reject the items of all other code.
#include <cmwq/cmwq.hpp>

void misuse() { cmwq::system_wq().drain(); }
