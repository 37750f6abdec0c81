// expect: deleted
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<>& queue) { cmwq::workqueue<> copy{queue}; }
