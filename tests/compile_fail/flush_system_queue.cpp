// expect: no member named 'flush'
// Whoever waits for a queue that is everybody's waits for everybody.
#include <cmwq/cmwq.hpp>

void misuse() { cmwq::system_wq().flush(); }
