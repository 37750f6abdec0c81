// expect: protected
// A work_base alone is an item without a function.
#include <cmwq/workqueue.hpp>

void misuse() { cmwq::work_base item{nullptr}; }
