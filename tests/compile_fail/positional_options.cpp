// expect: no matching (function|constructor)
// Options have names.
#include <cmwq/cmwq.hpp>

cmwq::workqueue<> misuse{"q", 8, true};
