// expect: deleted
#include <cmwq/cmwq.hpp>

void misuse(cmwq::workqueue<>& queue) { cmwq::workqueue<> copy{queue}; }
