// expect: no matching (function|constructor)
// Options have names.
#include <cmwq/workqueue.hpp>

cmwq::workqueue<> misuse{"q", 8, true};
