// expect: (named|designator) 'max_active'
// One item at a time is what ordered means.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::ordered> misuse{.name = "q", .max_active = 2};
