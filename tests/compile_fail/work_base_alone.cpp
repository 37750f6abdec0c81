// expect: protected
// An item without a function.
#include <cmwq/cmwq.hpp>

void misuse() { cmwq::work_base item{nullptr}; }
