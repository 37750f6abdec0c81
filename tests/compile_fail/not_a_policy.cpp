// expect: does not satisfy cmwq::execution_policy|constraints not satisfied|constraint failure
#include <cmwq/workqueue.hpp>

cmwq::workqueue<int> misuse{"q"};
