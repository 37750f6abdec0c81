// expect: protected
// An item without a function.
#include <cmwq/workqueue.hpp>

void misuse() { cmwq::work_base item{nullptr}; }
